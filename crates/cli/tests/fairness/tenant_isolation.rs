//! A tenant's jobs do not exist for others.

use serde_json::{Value, json};

use crate::api::{Caller, caller, fresh, of_with, shared, state};
use crate::shorthand::{boom, eventually, fresh_queue, job_on, job_with, text};
use crate::support::Server;

/// One tenant with jobs on a queue, and one that should see none of them.
struct Two {
    server: std::sync::Arc<Server>,
    acme: String,
    beta: String,
    queue: String,
}

impl Two {
    fn new() -> Self {
        Self { server: shared(), acme: fresh("acme"), beta: fresh("beta"), queue: fresh_queue() }
    }

    fn acme(&self) -> Caller<'_> {
        caller(&self.server, &self.acme)
    }

    fn beta(&self) -> Caller<'_> {
        caller(&self.server, &self.beta)
    }

    fn enqueue(&self, more: Value) -> String {
        self.server.enqueue(of_with(&self.acme, &self.queue, more))
    }

    fn active(&self) -> String {
        let id = self.enqueue(json!({}));
        assert_eq!(self.acme().fetch(&self.queue, 1).len(), 1);
        id
    }

    fn discarded(&self) -> String {
        let id = self.enqueue(json!({"retry": {"max_attempts": 1}}));
        assert_eq!(self.acme().fetch(&self.queue, 1).len(), 1);
        let body = json!({"job_id": id, "error": boom()});
        assert_eq!(
            self.acme().post("/ojs/v1/workers/nack", body).expect(200)["state"],
            "discarded"
        );
        id
    }
}

#[test]
fn a_job_is_shown_to_its_tenant_only() {
    let two = Two::new();
    let path = format!("/ojs/v1/jobs/{}", two.enqueue(json!({})));
    two.acme().get(&path).expect(200);
    let foreign = two.beta().get(&path).expect_error(404, "not_found");
    let nothing = format!("/ojs/v1/jobs/{}", crate::shorthand::NOBODY);
    let missing = two.beta().get(&nothing).expect_error(404, "not_found");
    let same = |error: &Value, id: &str| text(&error["message"]).replace(id, "");
    let id = path.rsplit('/').next().unwrap();
    assert_eq!(same(&foreign, id), same(&missing, crate::shorthand::NOBODY));
    two.server.get(&path).expect(200);
}

#[test]
fn a_job_is_cancelled_by_its_tenant_only() {
    let two = Two::new();
    let id = two.enqueue(json!({}));
    let (path, cancel) = (format!("/ojs/v1/jobs/{id}"), format!("/ojs/v1/jobs/{id}/cancel"));
    two.beta().delete(&path).expect_error(404, "not_found");
    two.beta().post(&cancel, json!({})).expect_error(404, "not_found");
    assert_eq!(state(&two.server, &id), "available");
    two.acme().delete(&path).expect(200);
    assert_eq!(state(&two.server, &id), "cancelled");
}

#[test]
fn a_job_is_acknowledged_by_its_tenant_only() {
    let two = Two::new();
    let id = two.active();
    let body = json!({"job_id": id, "result": "stolen"});
    two.beta().post("/ojs/v1/workers/ack", body).expect_error(404, "not_found");
    assert_eq!(state(&two.server, &id), "active");
    two.acme().post("/ojs/v1/workers/ack", json!({"job_id": id})).expect(200);
}

#[test]
fn a_job_is_failed_by_its_tenant_only() {
    let two = Two::new();
    let id = two.active();
    let body = json!({"job_id": id, "error": boom()});
    two.beta().post("/ojs/v1/workers/nack", body.clone()).expect_error(404, "not_found");
    assert_eq!(state(&two.server, &id), "active");
    two.acme().post("/ojs/v1/workers/nack", body).expect(200);
}

#[test]
fn a_heartbeat_of_another_tenant_extends_nothing() {
    let two = Two::new();
    let id = two.active();
    let beat = json!({"worker_id": fresh("w"), "active_jobs": [id]});
    let answer = two.beta().post("/ojs/v1/workers/heartbeat", beat).expect(200);
    assert_eq!(answer["jobs_extended"], json!([]));
}

#[test]
fn a_dead_letter_belongs_to_its_tenant() {
    let two = Two::new();
    let id = two.discarded();
    let path = format!("/ojs/v1/dead-letter/{id}");
    two.beta().get(&path).expect_error(404, "not_found");
    two.beta().post(&format!("{path}/retry"), json!({})).expect_error(404, "not_found");
    two.beta().delete(&path).expect_error(404, "not_found");
    let list = two.beta().get("/ojs/v1/dead-letter").expect(200);
    assert_eq!((&list["jobs"], &list["pagination"]["total"]), (&json!([]), &json!(0)));
    assert_eq!(two.beta().get("/ojs/v1/dead-letter/stats").expect(200)["total"], 0);
    assert_eq!(two.acme().get("/ojs/v1/dead-letter").expect(200)["jobs"][0]["id"], id);
    assert_eq!(two.acme().get("/ojs/v1/dead-letter/stats").expect(200)["total"], 1);
    two.acme().post(&format!("{path}/retry"), json!({})).expect(200);
    assert_eq!(state(&two.server, &id), "available");
}

#[test]
fn an_operators_view_with_a_tenant_is_that_tenants_view() {
    let two = Two::new();
    let id = two.discarded();
    let path = format!("/ojs/v1/admin/jobs/{id}");
    two.beta().get(&path).expect_error(404, "not_found");
    two.beta().get(&format!("{path}/explain")).expect_error(404, "not_found");
    for action in ["retry", "cancel"] {
        let reply = two.beta().post(&format!("{path}/{action}"), json!({}));
        reply.expect_error(404, "not_found");
    }
    assert_eq!(state(&two.server, &id), "discarded");
    two.acme().get(&path).expect(200);
    two.acme().post(&format!("{path}/retry"), json!({})).expect(200);
    assert_eq!(state(&two.server, &id), "available");
}

#[test]
fn a_fetch_with_a_tenant_gives_only_its_jobs() {
    let two = Two::new();
    two.enqueue(json!({"priority": 100}));
    two.enqueue(json!({"priority": 100}));
    let own = two.beta().enqueue(job_on(&two.queue));
    assert_eq!(crate::shorthand::ids(&two.beta().fetch(&two.queue, 9)), [own]);
    assert!(two.beta().fetch(&two.queue, 9).is_empty());
    assert_eq!(two.acme().fetch(&two.queue, 9).len(), 2);
}

#[test]
fn a_repeated_id_of_another_tenant_tells_nothing() {
    let two = Two::new();
    let id = format!("019461a8-1a2b-7c3d-8e4f-{:012x}", std::process::id());
    two.enqueue(json!({"id": id, "args": ["secret"]}));
    let again = job_with(&two.queue, json!({"id": id, "args": ["mine"]}));
    let reply = two.beta().post("/ojs/v1/jobs", again.clone());
    assert!(!reply.text.contains("secret") && !reply.text.contains(&two.acme), "{}", reply.text);
    assert!(reply.body.get("job").is_none_or(|job| job["args"] == json!(["mine"])));
    let own = two.acme().post("/ojs/v1/jobs", again).expect(409);
    assert_eq!(own["job"]["args"], json!(["secret"]));
}

#[test]
fn names_of_schedules_belong_to_their_tenant() {
    let two = Two::new();
    let name = fresh("nightly");
    let cron =
        |kind: &str| json!({"name": name, "cron": "@daily", "type": kind, "queue": two.queue});
    two.acme().post("/ojs/v1/cron", cron("acme.report")).expect(201);
    let path = format!("/ojs/v1/cron/{name}");
    two.beta().get(&path).expect_error(404, "not_found");
    two.beta().delete(&path).expect_error(404, "not_found");
    two.beta().post("/ojs/v1/cron", cron("beta.report")).expect(201);
    assert_eq!(two.acme().get(&path).expect(200)["cron"]["type"], "acme.report");
    assert_eq!(two.beta().get(&path).expect(200)["cron"]["type"], "beta.report");
    assert_eq!(two.beta().get("/ojs/v1/cron").expect(200)["count"], 1);
    two.beta().delete(&path).expect(200);
    two.acme().get(&path).expect(200);
}

#[test]
fn runs_of_a_schedule_are_its_tenants_jobs() {
    let two = Two::new();
    let cron = json!({"name": fresh("often"), "cron": "@every 1s", "type": "a.b",
        "options": {"queue": two.queue}});
    two.acme().post("/ojs/v1/cron", cron).expect(201);
    let jobs = eventually("a run", || {
        Some(two.acme().fetch(&two.queue, 1)).filter(|jobs| !jobs.is_empty())
    });
    assert_eq!(crate::api::tenant(&jobs[0]), two.acme);
}
