//! The rows of the rate limiting extension.

use serde_json::{Value, json};

use crate::api::{
    assert_has, assert_members, enqueue_many, fetch, fresh, limited, partition, shared, state,
};
use crate::shorthand::{ack, fresh_queue, ids, job_on, millis, nack};
use crate::watch::{assert_window, await_event, fetch_patiently, from_now, starts};

#[test]
fn rl_001_concurrency_is_enforced_with_the_assignment() {
    let server = shared();
    let (key, queue) = (fresh("payment-api"), fresh_queue());
    enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 5})), 60);
    let jobs: Vec<Value> = std::thread::scope(|scope| {
        let work = || (0..5).flat_map(|_| server.fetch(&queue, 2)).collect::<Vec<_>>();
        let workers: Vec<_> = (0..6).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(jobs.len(), 5);
    ids(&jobs).iter().for_each(|id| drop(ack(&server, id)));
    assert_eq!(server.fetch(&queue, 99).len(), 5);
}

#[test]
fn rl_002_counters_are_partitioned_by_key() {
    let server = shared();
    let (a, b, queue) = (fresh("key-a"), fresh("key-b"), fresh_queue());
    for key in [&a, &b] {
        enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 1})), 3);
    }
    assert_eq!(server.fetch(&queue, 9).len(), 2);
    for key in [&a, &b] {
        assert_has(&partition(&server, key)["concurrency"], json!({"limit": 1, "active": 1}));
    }
}

#[test]
fn rl_003_limited_jobs_wait_as_available() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let limit = json!({"key": key, "concurrency": 1, "on_limit": "wait"});
    let sent = enqueue_many(&server, &limited(&queue, limit), 2);
    assert_eq!(server.fetch(&queue, 9).len(), 1);
    assert!(server.fetch(&queue, 9).is_empty());
    assert_eq!(state(&server, &sent[1]), "available");
    ack(&server, &sent[0]);
    assert_eq!(ids(&server.fetch(&queue, 9)), sent[1..]);
}

#[test]
fn rl_004_limited_jobs_are_skipped() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let limit = limited(&queue, json!({"key": key, "concurrency": 1}));
    let sent = enqueue_many(&server, &limit, 2);
    let free = server.enqueue(job_on(&queue));
    assert_eq!(ids(&server.fetch(&queue, 1)), sent[..1]);
    assert_eq!(ids(&server.fetch(&queue, 1)), [free]);
    assert!(server.fetch(&queue, 1).is_empty());
}

#[test]
fn rl_005_a_partition_can_be_inspected() {
    let server = shared();
    let (key, queue) = (fresh("stripe-api"), fresh_queue());
    let limit = json!({"key": key, "concurrency": 2, "rate": {"limit": 100, "period": "PT1M"},
        "throttle": {"limit": 1000, "period": "PT1S"}});
    enqueue_many(&server, &limited(&queue, limit), 3);
    fetch_patiently(&server, &queue, 2);
    let shown = partition(&server, &key);
    assert_has(&shown, json!({"key": key, "waiting_count": 1}));
    assert_has(&shown["concurrency"], json!({"limit": 2, "active": 2, "available": 0}));
    assert_has(&shown["rate"], json!({"limit": 100, "period": "PT1M", "current_count": 2}));
    assert_members(&shown["rate"], &["window_resets_at"]);
    assert_has(&shown["throttle"], json!({"limit": 1000, "period": "PT1S"}));
    assert_members(&shown["throttle"], &["next_allowed_at"]);
}

#[test]
fn rl_006_limits_tell_when_they_hold_and_let_go() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let sent = enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 1})), 2);
    server.fetch(&queue, 9);
    server.fetch(&queue, 9);
    let exceeded = await_event(&server, "rate_limit.exceeded", "key", &key);
    assert_has(&exceeded, json!({"strategy": "concurrency", "limit": 1, "current": 1}));
    ack(&server, &sent[0]);
    server.fetch(&queue, 9);
    let released = await_event(&server, "rate_limit.released", "key", &key);
    assert_has(&released, json!({"strategy": "concurrency", "job_id": sent[1]}));
}

#[test]
fn rl_r001_a_window_limits_starts() {
    let server = shared();
    let (key, queue) = (fresh("email-provider"), fresh_queue());
    let limit = json!({"key": key, "rate": {"limit": 2, "period": "PT1S"}});
    enqueue_many(&server, &limited(&queue, limit), 5);
    assert_window(&fetch_patiently(&server, &queue, 5), 2, 1000);
}

#[test]
fn rl_r002_a_throttle_spaces_starts() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let limit = json!({"key": key, "throttle": {"limit": 10, "period": "PT1S"}});
    enqueue_many(&server, &limited(&queue, limit), 6);
    let starts = starts(&fetch_patiently(&server, &queue, 6));
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 90), "{starts:?}");
}

#[test]
fn rl_r003_a_workers_error_pauses_the_key() {
    let server = shared();
    let pause = |ms: i64| {
        let (key, queue, until) = (fresh("stripe-api"), fresh_queue(), from_now(ms));
        let job = limited(&queue, json!({"key": key, "concurrency": 5}));
        let sent = enqueue_many(&server, &job, 2);
        assert_eq!(server.fetch(&queue, 1).len(), 1);
        let error = json!({"type": "RateLimitExceeded",
            "message": "Stripe API rate limit exceeded", "rate_limit_until": until});
        nack(&server, &sent[0], error);
        (key, queue, until)
    };
    let (key, queue, _) = pause(60_000);
    assert!(server.fetch(&queue, 9).is_empty());
    await_event(&server, "rate_limit.dynamic_adjusted", "key", &key);
    let (_, queue, until) = pause(500);
    let jobs = fetch(&server, json!({"queues": [queue], "wait_ms": 20_000}));
    assert_eq!(jobs.len(), 1);
    assert!(millis(&jobs[0]["started_at"]) >= millis(&json!(until)) - 1);
}

#[test]
fn rl_r004_a_limit_can_be_overridden() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 1})), 3);
    let path = format!("/ojs/v1/rate-limits/{key}");
    let body = json!({"concurrency": 0, "expires_at": from_now(3_600_000)});
    server.put(&path, body).expect(200);
    assert!(server.fetch(&queue, 9).is_empty());
    let body = json!({"concurrency": 2, "expires_at": from_now(3_600_000)});
    server.put(&path, body).expect(200);
    assert_eq!(server.fetch(&queue, 9).len(), 2);
}

#[test]
fn rl_r005_a_queue_can_have_a_limit() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let path = format!("/ojs/v1/admin/queues/{queue}/rate-limit");
    let body = json!({"concurrency": 2, "rate": {"limit": 1000, "period": "PT1H"}});
    server.put(&path, body).expect(200);
    enqueue_many(&server, &job_on(&queue), 2);
    enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 9})), 2);
    assert_eq!(server.fetch(&queue, 9).len(), 2);
    assert!(server.fetch(&queue, 9).is_empty());
}
