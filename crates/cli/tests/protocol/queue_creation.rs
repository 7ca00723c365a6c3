//! Creating, configuring, purging and deleting queues, as the document on queue configuration has it.

use serde_json::{Value, json};

use crate::shorthand::{ack, job_on};
use crate::support::{JSON, Server};

fn is_listed(server: &Server, name: &str) -> bool {
    let list = server.get("/ojs/v1/queues?per_page=200").expect(200);
    assert_eq!(list["items"], list["queues"]);
    list["items"].as_array().unwrap().iter().any(|queue| queue["name"] == name)
}

#[test]
fn a_queue_is_created_with_its_configuration_and_stays() {
    let mut server = Server::start();
    let config = json!({"max_size": 2, "overflow_policy": "reject", "concurrency": 1,
        "retention": {"completed": "P3D"}});
    let created = server.post("/ojs/v1/queues", json!({"name": "mail", "config": config}));
    let created = created.expect(201);
    assert_eq!((&created["name"], &created["state"]), (&json!("mail"), &json!("active")));
    assert_eq!(
        (&created["config"]["max_size"], &created["config"]["concurrency"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(created["config"]["retention"]["completed"], "P3D");
    assert!(created["created_at"].is_string(), "{created}");
    // As ojs-cli sends it: without `config`, and with nothing but a name.
    server.post("/ojs/v1/queues", json!({"name": "sms", "concurrency": 3})).expect(201);
    server.post("/ojs/v1/admin/queues", json!({"name": "plain"})).expect(201);
    for restarted in [false, true] {
        if restarted {
            server.restart();
        }
        for name in ["mail", "sms", "plain"] {
            assert!(is_listed(&server, name), "{name}, restarted: {restarted}");
        }
        let shown = server.get("/ojs/v1/queues/mail/config").expect(200);
        assert_eq!(shown["config"], created["config"]);
    }
    server.enqueue(job_on("mail"));
    server.enqueue(job_on("mail"));
    server.post("/ojs/v1/jobs", job_on("mail")).expect_error(429, "QUEUE_FULL");
    server.post("/ojs/v1/queues", json!({"name": "mail"})).expect_error(409, "conflict");
    assert_eq!(server.get("/ojs/v1/queues/mail/config").expect(200)["config"]["max_size"], 2);
}

#[test]
fn what_cannot_be_configured_is_refused() {
    let server = Server::start();
    for (body, status, field) in [
        (json!({}), 400, "name"),
        (json!({"name": 5}), 400, "name"),
        (json!({"name": "q", "config": 5}), 400, "config"),
        (json!({"name": "q", "config": {}, "concurrency": 1}), 400, "config"),
        (json!({"name": "q", "config": {"default_retry": {}}}), 422, "default_retry"),
        (json!({"name": "q", "dead_letter_queue": "dlq"}), 422, "dead_letter_queue"),
        (json!({"name": "q", "concurrency": 0}), 422, "concurrency"),
    ] {
        let error = server.post("/ojs/v1/queues", body.clone()).expect(status)["error"].clone();
        assert_eq!(error["details"]["field"], field, "{body}: {error}");
    }
    server
        .post("/ojs/v1/queues", json!({"name": "q", "colour": 1}))
        .expect_error(422, "invalid_request");
    server.post("/ojs/v1/queues", json!({"name": "A B"})).expect_error(400, "invalid_request");
    assert!(!is_listed(&server, "q"));
    let body = json!({"name": "q"}).to_string();
    let headers = [JSON, ("X-OJS-Tenant", "acme")];
    let reply = server.send("POST", "/ojs/v1/queues", &headers, Some(body.as_bytes()));
    reply.expect_error(403, "forbidden");
}

#[test]
fn one_retention_is_for_all_finished_jobs() {
    let server = Server::start();
    let config = server.put("/ojs/v1/queues/q/config", json!({"retention": "36h"})).expect(200);
    let expected = json!({"completed": "P1DT12H", "cancelled": "P1DT12H", "discarded": "P1DT12H"});
    assert_eq!(config["config"]["retention"], expected);
    let error = server.put("/ojs/v1/queues/q/config", json!({"retention": 5}));
    assert!(error.expect(400)["error"]["message"].as_str().unwrap().contains("retention"));
}

#[test]
fn a_queue_is_deleted_by_its_plain_path_unless_it_has_jobs() {
    let server = Server::start();
    server.post("/ojs/v1/queues", json!({"name": "q"})).expect(201);
    let id = server.enqueue(job_on("q"));
    let delete = |body: Value| {
        server.send("DELETE", "/ojs/v1/queues/q", &[JSON], Some(body.to_string().as_bytes()))
    };
    server.delete("/ojs/v1/queues/q").expect_error(409, "conflict");
    delete(json!({"strategy": "reject"})).expect_error(409, "conflict");
    for strategy in ["discard", "move"] {
        let error = delete(json!({"strategy": strategy})).expect_error(422, "unsupported");
        assert_eq!(error["details"]["field"], "strategy");
    }
    delete(json!({"strategy": "burn"})).expect_error(400, "invalid_request");
    server.fetch("q", 1);
    ack(&server, &id);
    let answer = server.delete("/ojs/v1/queues/q").expect(200);
    assert_eq!((&answer["queue"], &answer["state"]), (&json!("q"), &json!("deleted")));
    assert!(!is_listed(&server, "q"));
}

#[test]
fn finished_jobs_are_purged_without_confirmation_and_others_are_not() {
    let server = Server::start();
    let jobs: Vec<String> = (0..3).map(|_| server.enqueue(job_on("q"))).collect();
    server.fetch("q", 2);
    ack(&server, &jobs[0]);
    server.delete(&format!("/ojs/v1/jobs/{}", jobs[1])).expect(200);
    let purge = |body| server.post("/ojs/v1/queues/q/purge", body);
    purge(json!({"states": ["available"]})).expect_error(422, "invalid_request");
    purge(json!({"states": ["lost"]})).expect_error(400, "invalid_request");
    assert_eq!(purge(json!({"older_than": "1h"})).expect(200)["deleted"], 0);
    assert_eq!(purge(json!({})).expect(200)["deleted"], 1);
    assert_eq!(purge(json!({"states": ["completed", "cancelled"]})).expect(200)["deleted"], 1);
    assert_eq!(server.job(&jobs[2])["state"], "available");
}

#[test]
fn jobs_are_changed_in_bulk_by_their_ids() {
    let server = Server::start();
    let jobs: Vec<String> = (0..3).map(|_| server.enqueue(job_on("q"))).collect();
    let bulk =
        |action: &str, body: Value| server.post(&format!("/ojs/v1/jobs/bulk/{action}"), body);
    let stranger = crate::shorthand::NOBODY;
    let cancelled = bulk("cancel", json!({"job_ids": [jobs[0], jobs[1], stranger]})).expect(200);
    assert_eq!((&cancelled["cancelled"], &cancelled["failed"]), (&json!(2), &json!(1)));
    assert_eq!(bulk("retry", json!({"job_ids": [jobs[0]]})).expect(200)["retried"], 1);
    let filter = json!({"filter": {"state": "cancelled", "queue": "q"}});
    assert_eq!(bulk("delete", filter).expect(200)["deleted"], 1);
    for body in [
        json!({}),
        json!({"filter": {}}),
        json!({"job_ids": ["x"]}),
        json!({"job_ids": [], "filter": {}}),
    ] {
        bulk("cancel", body).expect_error(400, "invalid_request");
    }
    bulk("cancel", json!({"jobs": []})).expect_error(422, "invalid_request");
    assert_eq!(server.job(&jobs[0])["state"], "available");
    let list = server.get("/ojs/v1/jobs?limit=1&state=available&queue=q").expect(200);
    assert_eq!((&list["total"], &list["jobs"]), (&json!(2), &list["items"]));
}
