//! What a tenant may have at once, and what it is told when it asks for more.

use serde_json::{Value, json};

use crate::api::{
    assert_has, caller, enqueue_many, fetch, fresh, of, of_with, put_tenant, retry_after, shared,
};
use crate::shorthand::{ack, boom, eventually, fresh_queue, ids, nack, quick_retry, text};
use crate::support::{Reply, Server};
use crate::watch::nap;

const LATER: &str = "2099-01-01T00:00:00Z";

fn with_limits(server: &Server, limits: Value) -> (String, String) {
    let acme = fresh("acme-corp");
    put_tenant(server, &acme, json!({"tenant_id": acme, "limits": limits}));
    (acme, fresh_queue())
}

#[track_caller]
fn assert_refused(reply: Reply, tenant: &str, limit: &str, current: u64, maximum: u64) -> u64 {
    let seconds = retry_after(&reply);
    let error = reply.expect_error(429, "TENANT_LIMIT_EXCEEDED");
    let message = format!("Tenant '{tenant}' has exceeded {limit} ({maximum})");
    assert_has(
        &error,
        json!({"message": message, "tenant_id": tenant, "limit": limit, "current": current,
            "maximum": maximum, "retryable": true}),
    );
    seconds
}

#[test]
fn a_depth_that_is_reached_refuses() {
    let server = shared();
    let (acme, queue) = with_limits(&server, json!({"max_queue_depth": 2}));
    enqueue_many(&server, &of(&acme, &queue), 2);
    let reply = server.post("/ojs/v1/jobs", of(&acme, &queue));
    let seconds = assert_refused(reply, &acme, "max_queue_depth", 2, 2);
    assert_eq!(seconds, 5, "nothing starts at present");
    // Others are not concerned.
    server.enqueue(of(&fresh("beta"), &queue));
    // A job that is taken makes room.
    assert_eq!(caller(&server, &acme).fetch(&queue, 1).len(), 1);
    server.enqueue(of(&acme, &queue));
}

#[test]
fn the_depth_counts_what_waits_on_all_queues() {
    let server = shared();
    let (acme, queue) = with_limits(&server, json!({"max_queue_depth": 4}));
    let other = fresh_queue();
    server.enqueue(of(&acme, &other));
    server.enqueue(of_with(&acme, &queue, json!({"scheduled_at": LATER})));
    server.enqueue(of_with(&acme, &queue, json!({"pending": true})));
    let retrying = server.enqueue(of_with(
        &acme,
        &fresh("retrying"),
        json!({"retry": {"initial_interval": "PT1H"}}),
    ));
    let from = text(&server.job(&retrying)["queue"]);
    assert_eq!(caller(&server, &acme).fetch(&from, 1).len(), 1);
    assert_eq!(nack(&server, &retrying, boom())["state"], "retryable");
    let reply = server.post("/ojs/v1/jobs", of(&acme, &queue));
    assert_refused(reply, &acme, "max_queue_depth", 4, 4);
}

#[test]
fn a_return_to_the_queue_is_never_refused() {
    let server = shared();
    let (acme, queue) = with_limits(&server, json!({"max_queue_depth": 1}));
    let first = server.enqueue(of_with(&acme, &queue, json!({"retry": quick_retry(5)})));
    assert_eq!(caller(&server, &acme).fetch(&queue, 1).len(), 1);
    let second = server.enqueue(of(&acme, &queue));
    assert_eq!(nack(&server, &first, boom())["state"], "retryable");
    server.wait_for_state(&first, "available");
    let both = eventually("both are there", || {
        Some(caller(&server, &acme).fetch(&queue, 9)).filter(|jobs| jobs.len() == 2)
    });
    let mut got = ids(&both);
    got.sort();
    let mut sent = vec![first, second];
    sent.sort();
    assert_eq!(got, sent);
}

#[test]
fn scheduled_jobs_have_a_limit_of_their_own() {
    let server = shared();
    let (acme, queue) = with_limits(&server, json!({"max_scheduled": 1}));
    let later = of_with(&acme, &queue, json!({"scheduled_at": LATER}));
    server.enqueue(later.clone());
    let reply = server.post("/ojs/v1/jobs", later);
    assert_refused(reply, &acme, "max_scheduled", 1, 1);
    enqueue_many(&server, &of(&acme, &queue), 3);
}

#[test]
fn a_rate_of_enqueueing_refuses_a_burst() {
    let server = shared();
    let rate = json!({"max_enqueue_rate": {"limit": 3, "period": "PT1M"}});
    let (acme, queue) = with_limits(&server, rate);
    enqueue_many(&server, &of(&acme, &queue), 3);
    let reply = server.post("/ojs/v1/jobs", of(&acme, &queue));
    let seconds = assert_refused(reply, &acme, "max_enqueue_rate", 3, 3);
    assert!((1..=60).contains(&seconds), "{seconds}");
}

#[test]
fn retrying_after_retry_after_succeeds() {
    let server = shared();
    let rate = json!({"max_enqueue_rate": {"limit": 2, "period": "PT1S"}});
    let (acme, queue) = with_limits(&server, rate);
    enqueue_many(&server, &of(&acme, &queue), 2);
    let reply = server.post("/ojs/v1/jobs", of(&acme, &queue));
    if reply.status == 429 {
        nap(retry_after(&reply) * 1000);
        server.enqueue(of(&acme, &queue));
    }
}

#[test]
fn concurrency_holds_at_the_fetch_and_refuses_nothing() {
    let server = shared();
    let (acme, queue) = with_limits(&server, json!({"max_concurrency": 2}));
    let sent = enqueue_many(&server, &of(&acme, &queue), 5);
    assert_eq!(server.fetch(&queue, 9).len(), 2);
    assert!(server.fetch(&queue, 9).is_empty());
    assert_eq!(server.job(&sent[4])["state"], "available");
    ack(&server, &sent[0]);
    assert_eq!(ids(&server.fetch(&queue, 9)), sent[2..3]);
}

#[test]
fn concurrency_is_counted_across_all_queues() {
    let server = shared();
    let (acme, queue) = with_limits(&server, json!({"max_concurrency": 2}));
    let other = fresh_queue();
    enqueue_many(&server, &of(&acme, &queue), 2);
    enqueue_many(&server, &of(&acme, &other), 2);
    assert_eq!(server.fetch(&queue, 1).len(), 1);
    assert_eq!(server.fetch(&other, 9).len(), 1);
    assert!(server.fetch(&queue, 9).is_empty());
}

#[test]
fn a_tenant_at_its_concurrency_does_not_hold_up_others() {
    let server = shared();
    let (acme, queue) = with_limits(&server, json!({"max_concurrency": 1}));
    enqueue_many(&server, &of(&acme, &queue), 3);
    let beta = fresh("beta");
    let own = enqueue_many(&server, &of(&beta, &queue), 3);
    let jobs = server.fetch(&queue, 9);
    assert_eq!(jobs.len(), 4);
    assert!(own.iter().all(|id| jobs.iter().any(|job| job["id"] == **id)));
}

#[test]
fn a_freed_slot_of_a_tenant_wakes_a_waiting_fetch() {
    let server = shared();
    let (acme, queue) = with_limits(&server, json!({"max_concurrency": 1}));
    let sent = enqueue_many(&server, &of(&acme, &queue), 2);
    assert_eq!(server.fetch(&queue, 9).len(), 1);
    std::thread::scope(|scope| {
        let ask = json!({"queues": [queue], "wait_ms": 20_000});
        let waiting = scope.spawn(|| fetch(&server, ask));
        nap(150);
        ack(&server, &sent[0]);
        assert_eq!(ids(&waiting.join().unwrap()), sent[1..]);
    });
}

#[test]
fn limits_are_changed_at_once() {
    let server = shared();
    let (acme, queue) = with_limits(&server, json!({"max_queue_depth": 1}));
    let path = format!("/ojs/v1/admin/tenants/{acme}/limits");
    server.enqueue(of(&acme, &queue));
    server.post("/ojs/v1/jobs", of(&acme, &queue)).expect(429);
    server.put(&path, json!({"max_queue_depth": 2})).expect(200);
    server.enqueue(of(&acme, &queue));
    server.put(&path, json!({"max_queue_depth": null})).expect(200);
    enqueue_many(&server, &of(&acme, &queue), 5);
    server.put(&path, json!({"max_concurrency": 1})).expect(200);
    assert_eq!(server.fetch(&queue, 9).len(), 1);
    server.put(&path, json!({"max_concurrency": 3})).expect(200);
    assert_eq!(server.fetch(&queue, 9).len(), 2);
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    let server = shared();
    let path = format!("/ojs/v1/admin/tenants/{}", fresh("acme"));
    for bad in [
        json!({"limits": {"max_concurrency": -1}}),
        json!({"limits": {"max_concurrency": "many"}}),
        json!({"limits": {"max_enqueue_rate": {"limit": 5}}}),
        json!({"limits": {"max_enqueue_rate": {"limit": 5, "period": "soon"}}}),
        json!({"fairness_weight": 0}),
        json!({"fairness_weight": -2}),
        json!({"quota": "medium"}),
        json!({"tenant_id": "another"}),
    ] {
        let status = server.put(&path, bad.clone()).status;
        assert!(matches!(status, 400 | 422), "{status} for {bad}");
    }
    server.get(&path).expect_error(404, "not_found");
}
