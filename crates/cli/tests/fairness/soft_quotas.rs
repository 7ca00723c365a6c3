//! Soft quotas admit and say so.

use serde_json::json;

use crate::api::{assert_has, enqueue_many, fresh, of, of_with, put_tenant, shared};
use crate::shorthand::fresh_queue;
use crate::watch::await_event;

#[test]
fn a_soft_quota_admits_and_marks_the_answer() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    put_tenant(&server, &acme, json!({"limits": {"max_queue_depth": 1}, "quota": "soft"}));
    let reply = server.post("/ojs/v1/jobs", of(&acme, &queue));
    assert_eq!(reply.header("X-OJS-Quota-Exceeded"), None);
    reply.expect(201);
    let reply = server.post("/ojs/v1/jobs", of(&acme, &queue));
    assert_eq!(reply.header("X-OJS-Quota-Exceeded"), Some("max_queue_depth"));
    assert_eq!(reply.expect(201)["quota_exceeded"], json!(["max_queue_depth"]));
    let event = await_event(&server, "tenant.limit_exceeded", "tenant_id", &acme);
    assert_has(&event, json!({"limit": "max_queue_depth"}));
    assert_eq!(server.fetch(&queue, 9).len(), 2);
}

#[test]
fn all_that_is_exceeded_is_named() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    let limits = json!({"max_queue_depth": 1, "max_scheduled": 1});
    put_tenant(&server, &acme, json!({"limits": limits, "quota": "soft"}));
    let later = of_with(&acme, &queue, json!({"scheduled_at": "2099-01-01T00:00:00Z"}));
    server.enqueue(later.clone());
    let answer = server.post("/ojs/v1/jobs", later).expect(201);
    let mut named: Vec<_> = crate::api::list(&answer["quota_exceeded"]);
    named.sort_by_key(ToString::to_string);
    assert_eq!(named, ["max_queue_depth", "max_scheduled"]);
}

#[test]
fn hard_is_the_default_and_a_quota_can_become_soft() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    let shown = put_tenant(&server, &acme, json!({"limits": {"max_queue_depth": 1}}));
    assert_eq!(shown["quota"], "hard");
    server.enqueue(of(&acme, &queue));
    server.post("/ojs/v1/jobs", of(&acme, &queue)).expect(429);
    let path = format!("/ojs/v1/admin/tenants/{acme}/limits");
    server.put(&path, json!({"quota": "soft"})).expect(200);
    enqueue_many(&server, &of(&acme, &queue), 3);
    server.put(&path, json!({"quota": "hard"})).expect(200);
    server.post("/ojs/v1/jobs", of(&acme, &queue)).expect(429);
}
