//! Limits that operators declare: for keys, queues and types.

use serde_json::{Value, json};

use crate::api::{assert_has, enqueue_many, fresh, limited, list, partition, shared, start};
use crate::shorthand::{fresh_queue, ids, job_on, job_with};

#[test]
fn a_queue_limit_holds_all_jobs_of_the_queue() {
    let server = shared();
    let queue = fresh_queue();
    let path = format!("/ojs/v1/admin/queues/{queue}/rate-limit");
    let body = json!({"concurrency": 2, "rate": {"limit": 1000, "period": "PT1H"}});
    assert_has(&server.put(&path, body).expect(200)["concurrency"], json!({"limit": 2}));
    let sent = enqueue_many(&server, &job_on(&queue), 4);
    assert_eq!(ids(&server.fetch(&queue, 9)), sent[..2]);
    let shown = server.get(&path).expect(200);
    assert_has(
        &shown,
        json!({"key": format!("queue:{queue}"), "waiting_count": 2, "declared": true}),
    );
    assert_has(&shown["rate"], json!({"limit": 1000, "current_count": 2}));
    server.delete(&path).expect(200);
    assert_eq!(ids(&server.fetch(&queue, 9)), sent[2..]);
}

#[test]
fn of_a_queue_limit_and_a_jobs_limit_the_narrower_wins() {
    let server = shared();
    for (of_queue, of_job, expected) in [(3, 1, 1), (1, 3, 1)] {
        let (key, queue) = (fresh("api"), fresh_queue());
        let path = format!("/ojs/v1/admin/queues/{queue}/rate-limit");
        server.put(&path, json!({"concurrency": of_queue})).expect(200);
        enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": of_job})), 5);
        assert_eq!(server.fetch(&queue, 9).len(), expected);
    }
}

#[test]
fn all_limits_of_a_job_must_be_satisfied() {
    let server = shared();
    let (key, queue, kind) = (fresh("api"), fresh_queue(), "report.held");
    let queue_path = format!("/ojs/v1/admin/queues/{queue}/rate-limit");
    let type_path = format!("/ojs/v1/admin/job-types/{kind}/rate-limit");
    server.put(&queue_path, json!({"concurrency": 5})).expect(200);
    server.put(&type_path, json!({"concurrency": 4})).expect(200);
    let limit = json!({"type": kind, "rate_limit": {"key": key, "concurrency": 3}});
    enqueue_many(&server, &job_with(&queue, limit), 9);
    assert_eq!(server.fetch(&queue, 9).len(), 3);
    server.put(&type_path, json!({"concurrency": 3})).expect(200);
    let plain = json!({"type": kind});
    enqueue_many(&server, &job_with(&queue, plain), 2);
    assert!(server.fetch(&queue, 9).is_empty(), "three of the type are active");
    enqueue_many(&server, &job_on(&queue), 9);
    assert_eq!(server.fetch(&queue, 9).len(), 2, "five of the queue are active");
}

#[test]
fn a_type_limit_holds_all_jobs_of_the_type() {
    let server = shared();
    let (one, other) = (fresh_queue(), fresh_queue());
    let kind = "report.generate";
    let path = format!("/ojs/v1/admin/job-types/{kind}/rate-limit");
    server.put(&path, json!({"concurrency": 1})).expect(200);
    for queue in [&one, &other] {
        enqueue_many(&server, &job_with(queue, json!({"type": kind})), 2);
    }
    server.enqueue(job_on(&one));
    assert_eq!(server.fetch(&one, 9).len(), 2);
    assert!(server.fetch(&other, 9).is_empty());
    let shown = server.get(&path).expect(200);
    assert_has(&shown, json!({"key": format!("type:{kind}"), "waiting_count": 3}));
    server.delete(&path).expect(200);
    assert_eq!(server.fetch(&other, 9).len(), 2);
}

#[test]
fn a_declared_key_lasts_until_it_is_deleted() {
    let mut server = start(&[]);
    let path = "/ojs/v1/rate-limits/api";
    let shown = server.put(path, json!({"concurrency": 1})).expect(200);
    assert_has(&shown, json!({"declared": true}));
    server.restart();
    assert_has(&partition(&server, "api"), json!({"declared": true}));
    enqueue_many(&server, &limited("q", json!({"key": "api", "concurrency": 3})), 5);
    assert_eq!(server.fetch("q", 9).len(), 1);
    server.delete(path).expect(200);
    assert_eq!(server.fetch("q", 9).len(), 2);
}

#[test]
fn null_clears_a_field() {
    let server = shared();
    let queue = fresh_queue();
    let path = format!("/ojs/v1/admin/queues/{queue}/rate-limit");
    let body = json!({"concurrency": 1, "rate": {"limit": 3, "period": "PT1H"}});
    server.put(&path, body).expect(200);
    enqueue_many(&server, &job_on(&queue), 9);
    assert_eq!(server.fetch(&queue, 9).len(), 1);
    server.put(&path, json!({"concurrency": null})).expect(200);
    let got = server.fetch(&queue, 9).len();
    assert!(got >= 2, "the concurrency is gone: {got}");
}

#[test]
fn the_configuration_can_declare_limits() {
    let limits = json!({"api": {"concurrency": 1}, "queue:slow": {"concurrency": 2},
        "type:report.make": {"rate": {"limit": 1, "period": "PT1H"}}});
    let server = start(&[("ROTA_RATE_LIMITS", &limits.to_string())]);
    enqueue_many(&server, &limited("q", json!({"key": "api"})), 3);
    assert_eq!(server.fetch("q", 9).len(), 1);
    enqueue_many(&server, &job_on("slow"), 3);
    assert_eq!(server.fetch("slow", 9).len(), 2);
    enqueue_many(&server, &job_with("reports", json!({"type": "report.make"})), 3);
    assert_eq!(server.fetch("reports", 9).len(), 1);
    let shown: Vec<Value> = list(&server.get("/ojs/v1/rate-limits").expect(200)["items"]);
    assert!(shown.iter().filter(|one| one["declared"] == true).count() >= 3, "{shown:?}");
}

#[test]
fn a_queue_limit_is_for_all_tenants_together() {
    let server = shared();
    let queue = fresh_queue();
    let path = format!("/ojs/v1/admin/queues/{queue}/rate-limit");
    server.put(&path, json!({"concurrency": 2})).expect(200);
    for tenant in [fresh("acme"), fresh("beta")] {
        enqueue_many(&server, &crate::api::of(&tenant, &queue), 3);
    }
    let jobs = server.fetch(&queue, 9);
    let names = crate::api::tenants(&jobs);
    assert_eq!(names.len(), 2);
    assert_ne!(names[0], names[1]);
}
