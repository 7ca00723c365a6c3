//! A queue's configuration as a whole: it is replaced, and shown as it can be sent.

use serde_json::json;

use crate::api::{assert_has, enqueue_many, shared};
use crate::shorthand::{fresh_queue, job_on};

#[test]
fn a_configuration_replaces_the_one_before() {
    let server = shared();
    let path = format!("/ojs/v1/admin/queues/{}/config", fresh_queue());
    let bounds = json!({"max_depth": 5, "per_tenant": {"max_depth": 2}});
    let body = json!({"concurrency": 3, "backpressure": bounds});
    let shown = server.put(&path, body).expect(200)["configuration"].clone();
    assert_has(
        &shown["backpressure"],
        json!({"max_depth": 5, "strategy": "reject", "warning_threshold": 0.8}),
    );
    assert_has(&shown["backpressure"]["per_tenant"], json!({"max_depth": 2}));
    // What is shown may be sent as it is.
    let again = server.put(&path, shown.clone()).expect(200)["configuration"].clone();
    assert_eq!(again, shown);
    let shown = server.put(&path, json!({"concurrency": 4})).expect(200)["configuration"].clone();
    assert_has(&shown, json!({"concurrency": 4, "backpressure": null}));
}

#[test]
fn a_limit_on_starts_may_be_a_part_of_the_configuration() {
    let server = shared();
    let queue = fresh_queue();
    let path = format!("/ojs/v1/admin/queues/{queue}/config");
    let rate = json!({"limit": 2, "period": "PT1H"});
    let shown = server.put(&path, json!({"rate_limit": rate})).expect(200)["configuration"].clone();
    assert_has(&shown["rate_limit"], rate);
    enqueue_many(&server, &job_on(&queue), 5);
    assert_eq!(server.fetch(&queue, 9).len(), 2);
    // It has a path of its own, and stays where the configuration does not speak of it.
    server.put(&path, shown).expect(200);
    server.put(&path, json!({"concurrency": 9})).expect(200);
    assert!(server.fetch(&queue, 9).is_empty());
    server.put(&path, json!({"rate_limit": null})).expect(200);
    assert_eq!(server.fetch(&queue, 9).len(), 3);
}

#[test]
fn bounds_that_contradict_each_other_are_refused() {
    let server = shared();
    let path = format!("/ojs/v1/admin/queues/{}/config", fresh_queue());
    for bad in [
        json!({"max_depth": 1, "backpressure": {"max_depth": 2}}),
        json!({"max_depth": 1, "strategy": "block", "backpressure": {"max_depth": 1}}),
        json!({"max_depth": 1, "max_size": 2}),
        json!({"backpressure": {"per_tenant": {"max_dept": 1}}}),
        json!({"rate_limit": {"limit": 1}}),
        json!({"rate_limit": {"limit": 1, "period": "PT1S", "burst": 3}}),
    ] {
        let reply = server.put(&path, bad.clone());
        assert!(matches!(reply.status, 400 | 422), "{bad}: {}", reply.text);
    }
}
