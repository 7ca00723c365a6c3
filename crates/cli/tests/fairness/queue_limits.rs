//! Limits of whole queues: what is told of them, and how tenants with queues of their own see them.

use serde_json::{Value, json};

use crate::api::{assert_has, caller, enqueue_many, fetch, limited, list, shared, start};
use crate::shorthand::{ack, fresh_queue, job_on, text};
use crate::support::Server;
use crate::watch::events_with;

const NAMESPACES: (&str, &str) = ("ROTA_TENANCY_ISOLATION", "namespace");

fn told(server: &Server, kind: &str, key: &str) -> Vec<Value> {
    let found = events_with(server, kind, "key", key);
    found.into_iter().map(|event| event["data"].clone()).collect()
}

#[test]
fn a_closed_queue_and_its_opening_emit_one_event_each() {
    let (server, queue) = (shared(), fresh_queue());
    let (path, key) =
        (format!("/ojs/v1/admin/queues/{queue}/rate-limit"), format!("queue:{queue}"));
    server.put(&path, json!({"concurrency": 1})).expect(200);
    let ids = enqueue_many(&server, &job_on(&queue), 3);
    assert_eq!(fetch(&server, json!({"queues": [queue], "count": 9})).len(), 1);
    assert_eq!(fetch(&server, json!({"queues": [queue], "count": 9})).len(), 0);
    let exceeded = told(&server, "rate_limit.exceeded", &key);
    assert_eq!(exceeded.len(), 1, "{exceeded:?}");
    assert_has(
        &exceeded[0],
        json!({"strategy": "concurrency", "limit": 1, "current": 1, "queue": queue}),
    );
    assert!(told(&server, "rate_limit.released", &key).is_empty());

    ack(&server, &ids[0]);
    assert_eq!(fetch(&server, json!({"queues": [queue]})).len(), 1);
    let released = told(&server, "rate_limit.released", &key);
    assert_eq!(released.len(), 1, "{released:?}");
    assert_has(&released[0], json!({"strategy": "concurrency", "job_id": ids[1]}));
}

#[test]
fn a_limit_that_is_taken_away_lets_go() {
    let (server, queue) = (shared(), fresh_queue());
    let (path, key) =
        (format!("/ojs/v1/admin/queues/{queue}/rate-limit"), format!("queue:{queue}"));
    server.put(&path, json!({"concurrency": 0})).expect(200);
    let id = server.enqueue(job_on(&queue));
    assert!(fetch(&server, json!({"queues": [queue]})).is_empty());
    assert_eq!(told(&server, "rate_limit.exceeded", &key).len(), 1);
    server.delete(&path).expect(200);
    let released = told(&server, "rate_limit.released", &key);
    assert_eq!(released.len(), 1, "{released:?}");
    assert_eq!(released[0]["job_id"], id);
    assert_eq!(fetch(&server, json!({"queues": [queue]})).len(), 1);
}

#[test]
fn an_empty_queue_emits_no_event() {
    let (server, queue) = (shared(), fresh_queue());
    let path = format!("/ojs/v1/admin/queues/{queue}/rate-limit");
    server.put(&path, json!({"concurrency": 0})).expect(200);
    fetch(&server, json!({"queues": [queue]}));
    assert!(told(&server, "rate_limit.exceeded", &format!("queue:{queue}")).is_empty());
}

#[test]
fn the_limit_of_ones_own_queue_is_called_as_the_queue_is() {
    let server = start(&[NAMESPACES]);
    let acme = caller(&server, "acme");
    let limit = json!({"concurrency": 1});
    let put = acme.put("/ojs/v1/admin/queues/mail/rate-limit", limit).expect(200);
    assert_has(&put, json!({"key": "queue:mail", "tenant_id": "acme", "scope": "tenant"}));
    acme.enqueue(job_on("mail"));
    let waits = acme.enqueue(job_on("mail"));
    assert_eq!(acme.fetch("mail", 9).len(), 1);

    let why = acme.get(&format!("/ojs/v1/admin/jobs/{waits}/explain")).expect(200);
    assert_eq!(why["limits"][0]["key"], "queue:mail", "{why}");
    assert!(!why.to_string().contains("acme/"), "{why}");
    // The explanation names an address, and it is a good one.
    assert!(text(&why["summary"]).contains("PUT /ojs/v1/rate-limits/queue:mail"), "{why}");
    let more = acme.put("/ojs/v1/rate-limits/queue:mail", json!({"concurrency": 2})).expect(200);
    assert_eq!(more["concurrency"]["active"], 1, "{more}");
    assert_eq!(acme.fetch("mail", 9).len(), 1);

    let shown = server.get("/ojs/v1/admin/queues");
    assert_eq!(shown.status, 200);
    let told = events_of(&server, "acme");
    assert!(told.iter().any(|event| event["subject"] == "queue:mail"), "{told:?}");
    assert!(!json!(told).to_string().contains("acme/"), "{told:?}");
    acme.delete("/ojs/v1/rate-limits/queue:mail").expect(200);
    acme.get("/ojs/v1/rate-limits/queue:mail").expect_error(404, "not_found");
}

#[test]
fn limits_of_the_queues_of_others_are_not_listed() {
    let server = start(&[NAMESPACES]);
    let limit = json!({"concurrency": 1});
    caller(&server, "acme").put("/ojs/v1/admin/queues/mail/rate-limit", limit).expect(200);
    let listed =
        |tenant| list(&caller(&server, tenant).get("/ojs/v1/rate-limits").expect(200)["items"]);
    assert!(listed("beta").is_empty());
    assert_eq!(listed("acme")[0]["key"], "queue:mail");
    caller(&server, "beta").get("/ojs/v1/rate-limits/queue:mail").expect_error(404, "not_found");
}

#[test]
fn an_operator_declares_a_key_that_all_namespaces_share() {
    let server = start(&[NAMESPACES]);
    let job = || limited("mail", json!({"key": "smtp", "concurrency": 5, "scope": "global"}));
    let refused = |tenant| caller(&server, tenant).post("/ojs/v1/jobs", job());
    refused("acme").expect_error(422, "invalid_request");
    server.put("/ojs/v1/rate-limits/smtp", json!({"concurrency": 1})).expect(200);
    for tenant in ["acme", "beta"] {
        caller(&server, tenant).enqueue(job());
    }
    assert_eq!(caller(&server, "acme").fetch("mail", 9).len(), 1);
    assert_eq!(caller(&server, "beta").fetch("mail", 9).len(), 0);
    let listed = server.get("/ojs/v1/rate-limits").expect(200);
    assert_eq!(listed["items"][0]["key"], "smtp", "{listed}");
}

fn events_of(server: &Server, tenant: &str) -> Vec<Value> {
    let path = "/ojs/v1/events?limit=1000&types=rate_limit.*";
    list(&caller(server, tenant).get(path).expect(200)["events"])
}
