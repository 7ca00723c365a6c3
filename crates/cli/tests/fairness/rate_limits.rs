//! Limits by key: how many at once, and what happens to the rest.

use serde_json::{Value, json};

use crate::api::{enqueue_many, fetch, fresh, limited, of_with, partition, shared, state};
use crate::shorthand::{
    ack, boom, fresh_queue, ids, job_on, job_with, merged, nack, quick_retry, text,
};
use crate::watch::nap;

#[test]
fn no_more_than_the_concurrency_are_active() {
    let server = shared();
    let (key, queue) = (fresh("payment-api"), fresh_queue());
    let sent = enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 2})), 5);
    assert_eq!(ids(&server.fetch(&queue, 9)), sent[..2]);
    assert!(server.fetch(&queue, 9).is_empty());
    assert!(sent[2..].iter().all(|id| state(&server, id) == "available"));
    assert_eq!(partition(&server, &key)["waiting_count"], 3);
}

#[test]
fn a_slot_is_freed_by_every_end_of_an_attempt() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let limit = json!({"rate_limit": {"key": key, "concurrency": 1}, "retry": {"max_attempts": 1}});
    let sent = enqueue_many(&server, &job_with(&queue, limit), 5);
    let next = |n: usize| assert_eq!(ids(&server.fetch(&queue, 9)), sent[n..=n], "{n}");
    next(0);
    ack(&server, &sent[0]);
    next(1);
    nack(&server, &sent[1], boom());
    next(2);
    server.delete(&format!("/ojs/v1/jobs/{}", sent[2])).expect(200);
    next(3);
    let body = json!({"job_id": sent[3], "error": boom(), "requeue": true});
    server.post("/ojs/v1/workers/nack", body).expect(200);
    next(3);
    ack(&server, &sent[3]);
    next(4);
}

#[test]
fn a_slot_is_freed_when_the_worker_falls_silent() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let sent = enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 1})), 2);
    let ask = json!({"queues": [queue], "visibility_timeout_ms": 200});
    assert_eq!(ids(&fetch(&server, ask)), sent[..1]);
    let again = fetch(&server, json!({"queues": [queue], "count": 2, "wait_ms": 20_000}));
    assert_eq!(again.len(), 1, "{again:?}");
    assert_eq!(partition(&server, &key)["concurrency"]["active"], 1);
}

#[test]
fn keys_have_counters_of_their_own() {
    let server = shared();
    let (a, b, queue) = (fresh("api-a"), fresh("api-b"), fresh_queue());
    for key in [&a, &b] {
        enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 1})), 2);
    }
    let jobs = server.fetch(&queue, 9);
    assert_eq!(jobs.len(), 2);
    let mut keys: Vec<String> = jobs.iter().map(|job| text(&job["rate_limit"]["key"])).collect();
    keys.sort();
    assert_eq!(keys, [a, b]);
}

#[test]
fn a_key_is_shared_by_queues_and_types() {
    let server = shared();
    let (key, one, other) = (fresh("api"), fresh_queue(), fresh_queue());
    let limit = json!({"key": key, "concurrency": 1});
    server.enqueue(limited(&one, limit.clone()));
    server.enqueue(merged(limited(&other, limit), json!({"type": "other.kind"})));
    assert_eq!(server.fetch(&one, 9).len(), 1);
    assert!(server.fetch(&other, 9).is_empty());
}

#[test]
fn a_key_is_shared_by_tenants_unless_its_scope_is_the_tenant() {
    let server = shared();
    for (scope, expected) in [(None, 1), (Some("global"), 1), (Some("tenant"), 2)] {
        let (key, queue) = (fresh("api"), fresh_queue());
        let mut limit = json!({"key": key, "concurrency": 1});
        if let Some(scope) = scope {
            limit["scope"] = json!(scope);
        }
        for tenant in [fresh("acme"), fresh("beta")] {
            let job = of_with(&tenant, &queue, json!({"rate_limit": limit}));
            enqueue_many(&server, &job, 2);
        }
        assert_eq!(server.fetch(&queue, 9).len(), expected, "{scope:?}");
    }
}

#[test]
fn limited_jobs_are_skipped_for_the_next_that_may_run() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let limit = json!({"key": key, "concurrency": 1});
    enqueue_many(&server, &merged(limited(&queue, limit), json!({"priority": 50})), 3);
    let free = enqueue_many(&server, &job_on(&queue), 2);
    let jobs = ids(&server.fetch(&queue, 9));
    assert_eq!(jobs.len(), 3);
    assert_eq!(jobs[1..], free);
}

#[test]
fn priority_decides_among_the_limited() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let job = |priority: i32| {
        merged(
            limited(&queue, json!({"key": key, "concurrency": 1})),
            json!({"priority": priority}),
        )
    };
    let low = server.enqueue(job(1));
    assert_eq!(ids(&server.fetch(&queue, 9)), std::slice::from_ref(&low));
    let middle = server.enqueue(job(5));
    let high = server.enqueue(job(9));
    ack(&server, &low);
    assert_eq!(ids(&server.fetch(&queue, 9)), std::slice::from_ref(&high));
    ack(&server, &high);
    assert_eq!(ids(&server.fetch(&queue, 9)), [middle]);
}

#[test]
fn jobs_of_one_key_are_each_held_by_their_own_numbers() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let narrow = enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 1})), 2);
    let wide = enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 3})), 3);
    let jobs = ids(&server.fetch(&queue, 9));
    assert_eq!(jobs, [&narrow[..1], &wide[..2]].concat());
    let shown = partition(&server, &key);
    assert_eq!((&shown["mixed"], &shown["concurrency"]["limit"]), (&json!(true), &json!(1)));
}

#[test]
fn waiting_costs_no_attempt_and_no_time() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let more = json!({"rate_limit": {"key": key, "concurrency": 1}, "retry": quick_retry(2)});
    let sent = enqueue_many(&server, &job_with(&queue, more), 2);
    server.fetch(&queue, 9);
    for _ in 0..5 {
        assert!(server.fetch(&queue, 9).is_empty());
    }
    nap(100);
    ack(&server, &sent[0]);
    let job = server.fetch(&queue, 9).remove(0);
    assert_eq!((&job["id"], &job["attempt"]), (&json!(sent[1]), &json!(1)));
    let answer = nack(&server, &sent[1], boom());
    assert_eq!((&answer["state"], &answer["retry_delay_ms"]), (&json!("retryable"), &json!(50)));
}

#[test]
fn many_fetches_at_once_never_exceed_a_limit() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 7})), 200);
    let jobs: Vec<Value> = std::thread::scope(|scope| {
        let ask = || (0..10).flat_map(|_| server.fetch(&queue, 3)).collect::<Vec<_>>();
        let all: Vec<_> = (0..6).map(|_| scope.spawn(ask)).collect();
        all.into_iter().flat_map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(jobs.len(), 7);
    assert_eq!(partition(&server, &key)["concurrency"]["active"], 7);
}
