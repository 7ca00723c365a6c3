//! Doing something to all jobs that match.

use serde_json::{Value, json};

use crate::shorthand::{ids, job_on, job_with};
use crate::states::{STATES, job_in};
use crate::support::{JSON, Reply, Server};

fn bulk(server: &Server, action: &str, body: Value) -> Reply {
    server.post(&format!("/ojs/v1/admin/jobs/bulk/{action}"), body)
}

#[track_caller]
fn assert_counts(answer: &Value, matched: u64, succeeded: u64, failed: u64) {
    let expected = json!([matched, succeeded, failed]);
    assert_eq!(
        json!([answer["matched"], answer["succeeded"], answer["failed"]]),
        expected,
        "{answer}"
    );
}

fn states(server: &Server, jobs: &[String]) -> Vec<String> {
    jobs.iter().map(|id| crate::shorthand::text(&server.job(id)["state"])).collect()
}

#[test]
fn every_action_needs_to_be_confirmed() {
    let server = Server::start();
    let id = job_in(&server, "discarded");
    for action in ["retry", "cancel", "delete"] {
        for body in [json!({}), json!({"confirm": false}), json!({"filter": {"queue": "q"}})] {
            bulk(&server, action, body).expect_error(400, "invalid_request");
        }
    }
    bulk(&server, "explode", json!({"confirm": true})).expect_error(404, "not_found");
    let unknown = json!({"confirm": true, "filter": {"colour": "red"}});
    bulk(&server, "cancel", unknown).expect_error(422, "invalid_request");
    assert_eq!(server.job(&id)["state"], "discarded");
}

#[test]
fn retry_takes_discarded_jobs_and_cancelled_ones_when_asked() {
    let server = Server::start();
    let jobs: Vec<String> = STATES.iter().map(|state| job_in(&server, state)).collect();
    let answer = bulk(&server, "retry", json!({"confirm": true})).expect(200);
    assert_counts(&answer, 1, 1, 0);
    let body = json!({"confirm": true, "filter": {"state": "cancelled"}});
    assert_counts(&bulk(&server, "retry", body).expect(200), 1, 1, 0);
    let expected = [
        "scheduled",
        "available",
        "pending",
        "active",
        "completed",
        "retryable",
        "available",
        "available",
    ];
    assert_eq!(states(&server, &jobs), expected);
    let body = json!({"confirm": true, "filter": {"state": "completed"}});
    bulk(&server, "retry", body).expect_error(422, "invalid_request");
}

#[test]
fn a_job_that_is_not_there_is_named() {
    let server = Server::start();
    let foreign = server.enqueue(job_with("q", json!({"meta": {"tenant_id": "beta"}})));
    let body = json!({"job_ids": [foreign], "confirm": true}).to_string();
    let headers = [JSON, ("X-OJS-Tenant", "acme")];
    let path = "/ojs/v1/admin/jobs/bulk/cancel";
    let answer = server.send("POST", path, &headers, Some(body.as_bytes())).expect(200);
    let error = json!({"job_id": foreign, "error": format!("There is no job '{foreign}'.")});
    assert_eq!(answer["errors"], json!([error]));
}

#[test]
fn cancel_takes_all_that_have_not_ended() {
    let server = Server::start();
    let jobs: Vec<String> = STATES.iter().map(|state| job_in(&server, state)).collect();
    let answer = bulk(&server, "cancel", json!({"confirm": true})).expect(200);
    assert_counts(&answer, 5, 5, 0);
    let expected = [
        "cancelled",
        "cancelled",
        "cancelled",
        "cancelled",
        "completed",
        "cancelled",
        "cancelled",
        "discarded",
    ];
    assert_eq!(states(&server, &jobs), expected);
    assert_counts(&bulk(&server, "cancel", json!({"confirm": true})).expect(200), 0, 0, 0);
}

#[test]
fn delete_takes_all_that_have_ended() {
    let server = Server::start();
    let jobs: Vec<String> = STATES.iter().map(|state| job_in(&server, state)).collect();
    assert_counts(&bulk(&server, "delete", json!({"confirm": true})).expect(200), 3, 3, 0);
    let left: Vec<u16> =
        jobs.iter().map(|id| server.get(&format!("/ojs/v1/jobs/{id}")).status).collect();
    assert_eq!(left, [200, 200, 200, 200, 404, 200, 404, 404]);
    let body = json!({"confirm": true, "filter": {"state": "active"}});
    bulk(&server, "delete", body).expect_error(422, "invalid_request");
}

#[test]
fn a_filter_selects_jobs() {
    let server = Server::start();
    let send =
        |queue: &str, kind: &str| server.enqueue(json!({"type": kind, "args": [], "queue": queue}));
    let jobs = [send("a", "mail.send"), send("a", "text.send"), send("b", "mail.send")];
    let body = json!({"confirm": true, "filter": {"queue": "a", "type": "mail.*"}});
    assert_counts(&bulk(&server, "cancel", body).expect(200), 1, 1, 0);
    assert_eq!(states(&server, &jobs), ["cancelled", "available", "available"]);
    let body = json!({"confirm": true, "filter": {"until": "2001-01-01T00:00:00Z"}});
    assert_counts(&bulk(&server, "cancel", body).expect(200), 0, 0, 0);
    let body =
        json!({"confirm": true, "filter": {"since": "2001-01-01T00:00:00Z", "state": "available"}});
    assert_counts(&bulk(&server, "cancel", body).expect(200), 2, 2, 0);
}

#[test]
fn thousands_are_cancelled_retried_and_deleted() {
    let server = Server::start();
    for _ in 0..2 {
        server.post("/ojs/v1/jobs/batch", json!({"jobs": vec![job_on("q"); 700]})).expect(201);
    }
    let bystander = server.enqueue(job_with("other", json!({})));
    let body = |state: &str| json!({"confirm": true, "filter": {"queue": "q", "state": state}});
    assert_counts(&bulk(&server, "cancel", body("available")).expect(200), 1400, 1400, 0);
    assert!(server.fetch("q", 1).is_empty());
    assert_counts(&bulk(&server, "retry", body("cancelled")).expect(200), 1400, 1400, 0);
    assert_eq!(server.fetch("q", 1000).len() + server.fetch("q", 1000).len(), 1400);
    bulk(&server, "cancel", body("active")).expect(200);
    assert_counts(&bulk(&server, "delete", body("cancelled")).expect(200), 1400, 1400, 0);
    let counts = server.get("/ojs/v1/queues/q").expect(200)["stats"].clone();
    assert_eq!((&counts["cancelled"], &counts["active"]), (&json!(0), &json!(0)));
    assert_eq!(ids(&server.fetch("other", 1)), [bystander]);
}
