//! A worker is an operator's or one tenant's, and no other tenant changes it.

use serde_json::{Value, json};

use crate::api::{Caller, caller, fetch, fresh, list, of, shared, start};
use crate::shorthand::{fresh_queue, job_on, text};

const REGISTER: &str = "/ojs/v1/workers/register";
const BEAT: &str = "/ojs/v1/workers/heartbeat";
const FETCH: &str = "/ojs/v1/workers/fetch";
const DEREGISTER: &str = "/ojs/v1/workers/deregister";

/// Everything that would change a worker, tried by somebody whose it is not.
fn refused(who: Caller<'_>, worker: &str, queue: &str) {
    let named = |more: Value| crate::shorthand::merged(json!({"worker_id": worker}), more);
    let taken = named(json!({"queues": ["elsewhere"], "concurrency": 1}));
    let error = who.post(REGISTER, taken).expect_error(403, "forbidden");
    assert!(text(&error["hint"]).contains("another worker_id"), "{error}");
    let stop = named(json!({"state": "terminate", "concurrency": 1}));
    who.post(BEAT, stop).expect_error(403, "forbidden");
    who.post(FETCH, named(json!({"queues": [queue]}))).expect_error(403, "forbidden");
    who.post(DEREGISTER, named(json!({}))).expect_error(404, "not_found");
    who.delete(&format!("/ojs/v1/workers/{worker}")).expect_error(404, "not_found");
    let path = format!("/ojs/v1/admin/workers/{worker}");
    who.get(&path).expect_error(404, "not_found");
}

#[test]
fn a_tenant_does_not_touch_an_operators_worker() {
    let server = shared();
    let (worker, queue, att) = (fresh("shared"), fresh_queue(), fresh("att"));
    let about = json!({"worker_id": worker, "queues": [queue], "concurrency": 5});
    server.post(REGISTER, about).expect(200);
    refused(caller(&server, &att), &worker, &queue);
    let path = format!("/ojs/v1/admin/workers/{worker}");
    let shown = server.get(&path).expect(200);
    assert_eq!((&shown["state"], &shown["concurrency"]), (&json!("running"), &json!(5)));
    assert_eq!((&shown["queues"], &shown["tenant_id"]), (&json!([queue]), &Value::Null));
    server.enqueue(of(&fresh("acme"), &queue));
    assert_eq!(fetch(&server, json!({"worker_id": worker})).len(), 1);
}

#[test]
fn a_tenant_does_not_touch_another_tenants_worker() {
    let mut server = start(&[]);
    let beat = json!({"worker_id": "w"});
    let acme = caller(&server, "acme");
    acme.enqueue(job_on("q"));
    // Each of these is how a worker may be met first.
    acme.post(REGISTER, json!({"worker_id": "registered"})).expect(200);
    acme.post(BEAT, json!({"worker_id": "beating"})).expect(200);
    acme.post(FETCH, json!({"worker_id": "w", "queues": ["q"]})).expect(200);
    for worker in ["registered", "beating", "w"] {
        refused(caller(&server, "att"), worker, "q");
    }
    server.restart();
    for worker in ["registered", "beating", "w"] {
        refused(caller(&server, "att"), worker, "q");
    }
    // A shared worker of the same name replaces it.
    let acme = caller(&server, "acme");
    acme.post(BEAT, beat.clone()).expect(200);
    acme.post(REGISTER, json!({"worker_id": "w", "concurrency": 3})).expect(200);
    server.post(BEAT, json!({"worker_id": "w", "concurrency": 4})).expect(200);
    let shown = server.get("/ojs/v1/admin/workers/w").expect(200);
    assert_eq!((&shown["tenant_id"], &shown["concurrency"]), (&Value::Null, &json!(4)));
    refused(caller(&server, "acme"), "w", "q");
    server.post(DEREGISTER, beat).expect(200);
    server.post(DEREGISTER, json!({"worker_id": "beating"})).expect(200);
    // A name that nobody has any more is free.
    caller(&server, "att").post(REGISTER, json!({"worker_id": "w"})).expect(200);
    refused(caller(&server, "acme"), "w", "q");
}

#[test]
fn a_tenant_is_shown_its_own_workers() {
    let server = start(&[]);
    server.post(REGISTER, json!({"worker_id": "shared"})).expect(200);
    for tenant in ["acme", "beta"] {
        let about = json!({"worker_id": format!("of-{tenant}")});
        caller(&server, tenant).post(REGISTER, about).expect(200);
    }
    let names = |answer: Value| -> Vec<String> {
        assert_eq!(answer["summary"]["total"], answer["pagination"]["total"]);
        list(&answer["items"]).iter().map(|worker| text(&worker["id"])).collect()
    };
    let path = "/ojs/v1/admin/workers";
    assert_eq!(names(caller(&server, "acme").get(path).expect(200)), ["of-acme"]);
    assert!(names(caller(&server, "gamma").get(path).expect(200)).is_empty());
    assert_eq!(names(server.get(path).expect(200)), ["of-acme", "of-beta", "shared"]);
}
