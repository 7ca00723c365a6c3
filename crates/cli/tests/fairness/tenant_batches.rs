//! Batches against a tenant's limits: all or nothing.

use serde_json::json;

use crate::api::{
    enqueue_many, fresh, of, of_with, put_tenant, retry_after, shared, tenant_stats, try_batch,
};
use crate::shorthand::fresh_queue;

#[test]
fn a_batch_that_does_not_fit_is_refused_whole() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    put_tenant(&server, &acme, json!({"limits": {"max_queue_depth": 5}}));
    enqueue_many(&server, &of(&acme, &queue), 3);
    let reply = try_batch(&server, &vec![of(&acme, &queue); 3]);
    assert!(retry_after(&reply) >= 1);
    let error = reply.expect_error(429, "TENANT_LIMIT_EXCEEDED");
    assert_eq!((&error["current"], &error["maximum"]), (&json!(3), &json!(5)), "{error}");
    assert_eq!(tenant_stats(&server, &acme)["depth"], 3);
    enqueue_many(&server, &of(&acme, &queue), 2);
}

#[test]
fn one_tenant_without_room_refuses_the_batch_of_several() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    put_tenant(&server, &acme, json!({"limits": {"max_queue_depth": 1}}));
    server.enqueue(of(&acme, &queue));
    let jobs = [of(&beta, &queue), of(&acme, &queue)];
    let error = try_batch(&server, &jobs).expect_error(429, "TENANT_LIMIT_EXCEEDED");
    assert_eq!(error["tenant_id"], acme);
    assert_eq!(server.fetch(&queue, 9).len(), 1);
}

#[test]
fn a_batch_that_can_never_fit_is_no_matter_of_waiting() {
    let server = shared();
    let queue = fresh_queue();
    let later = json!({"scheduled_at": "2099-01-01T00:00:00Z"});
    for (limits, more) in [
        (json!({"max_queue_depth": 2}), json!({})),
        (json!({"max_scheduled": 2}), later),
        (json!({"max_enqueue_rate": {"limit": 2, "period": "PT1M"}}), json!({})),
    ] {
        let acme = fresh("acme");
        put_tenant(&server, &acme, json!({"limits": limits}));
        let reply = try_batch(&server, &vec![of_with(&acme, &queue, more); 3]);
        assert_eq!(reply.header("Retry-After"), None, "{limits}");
        reply.expect(422);
    }
    assert!(server.fetch(&queue, 9).is_empty());
}

#[test]
fn a_refused_batch_costs_nothing_of_the_rate() {
    let server = shared();
    let (acme, queue) = (fresh("acme"), fresh_queue());
    let limits = json!({"max_enqueue_rate": {"limit": 4, "period": "PT1M"}});
    put_tenant(&server, &acme, json!({"limits": limits}));
    enqueue_many(&server, &of(&acme, &queue), 2);
    try_batch(&server, &vec![of(&acme, &queue); 3]).expect(429);
    enqueue_many(&server, &of(&acme, &queue), 2);
    server.post("/ojs/v1/jobs", of(&acme, &queue)).expect(429);
}
