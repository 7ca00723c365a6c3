//! Fetches that wait for a limit to open, and limits that outlive the process.

use serde_json::json;

use crate::api::{enqueue_many, fetch, fresh, limited, partition, shared, start, state};
use crate::shorthand::{ack, fresh_queue, ids, millis, now_ms};
use crate::watch::nap;

#[test]
fn a_freed_slot_wakes_a_waiting_fetch() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let sent = enqueue_many(&server, &limited(&queue, json!({"key": key, "concurrency": 1})), 2);
    server.fetch(&queue, 9);
    std::thread::scope(|scope| {
        let ask = json!({"queues": [queue], "wait_ms": 20_000});
        let waiting = scope.spawn(|| fetch(&server, ask));
        nap(150);
        let freed = now_ms();
        ack(&server, &sent[0]);
        let jobs = waiting.join().unwrap();
        assert_eq!(ids(&jobs), sent[1..]);
        assert!(millis(&jobs[0]["started_at"]) >= freed - 1);
    });
}

#[test]
fn a_slot_freed_on_another_queue_wakes_too() {
    let server = shared();
    let (key, one, other) = (fresh("api"), fresh_queue(), fresh_queue());
    let limit = json!({"key": key, "concurrency": 1});
    let first = server.enqueue(limited(&one, limit.clone()));
    let second = server.enqueue(limited(&other, limit));
    assert_eq!(server.fetch(&one, 9).len(), 1);
    std::thread::scope(|scope| {
        let ask = json!({"queues": [other], "wait_ms": 20_000});
        let waiting = scope.spawn(|| fetch(&server, ask));
        nap(150);
        ack(&server, &first);
        assert_eq!(ids(&waiting.join().unwrap()), [second]);
    });
}

#[test]
fn a_passed_instant_wakes_a_waiting_fetch() {
    let server = shared();
    for limit in [
        json!({"rate": {"limit": 1, "period": "PT1S"}}),
        json!({"throttle": {"limit": 1, "period": "PT1S"}}),
    ] {
        let (key, queue) = (fresh("api"), fresh_queue());
        let limit = crate::shorthand::merged(limit, json!({"key": key}));
        let sent = enqueue_many(&server, &limited(&queue, limit.clone()), 2);
        let first = server.fetch(&queue, 9);
        assert_eq!(ids(&first), sent[..1]);
        let second = fetch(&server, json!({"queues": [queue], "wait_ms": 20_000}));
        assert_eq!(ids(&second), sent[1..], "{limit}");
        let apart = millis(&second[0]["started_at"]) - millis(&first[0]["started_at"]);
        assert!(apart >= 995, "{apart} for {limit}");
    }
}

#[test]
fn a_higher_override_wakes_a_waiting_fetch() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let id = server.enqueue(limited(&queue, json!({"key": key, "concurrency": 0})));
    std::thread::scope(|scope| {
        let ask = json!({"queues": [queue], "wait_ms": 20_000});
        let waiting = scope.spawn(|| fetch(&server, ask));
        nap(150);
        let path = format!("/ojs/v1/rate-limits/{key}");
        server.put(&path, json!({"concurrency": 2, "expires_in": "PT1H"})).expect(200);
        assert_eq!(ids(&waiting.join().unwrap()), [id]);
    });
}

#[test]
fn an_override_that_ends_wakes_a_waiting_fetch() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let lasting = |span: &str| {
        let path = format!("/ojs/v1/rate-limits/{key}");
        server.put(&path, json!({"concurrency": 0, "expires_in": span})).expect(200)
    };
    lasting("PT1H");
    let id = server.enqueue(limited(&queue, json!({"key": key, "concurrency": 1})));
    assert!(server.fetch(&queue, 1).is_empty());
    lasting("PT0.5S");
    assert_eq!(ids(&fetch(&server, json!({"queues": [queue], "wait_ms": 20_000}))), [id]);
}

#[test]
fn the_slots_that_are_taken_survive_a_kill() {
    let mut server = start(&[]);
    let sent = enqueue_many(&server, &limited("q", json!({"key": "api", "concurrency": 2})), 4);
    assert_eq!(server.fetch("q", 9).len(), 2);
    server.kill();
    server.restart();
    assert!(server.fetch("q", 9).is_empty());
    assert_eq!(partition(&server, "api")["concurrency"]["active"], 2);
    assert_eq!(state(&server, &sent[0]), "active");
    ack(&server, &sent[0]);
    assert_eq!(ids(&server.fetch("q", 9)), sent[2..3]);
}

#[test]
fn a_window_that_is_used_up_survives_a_kill() {
    let mut server = start(&[]);
    let limit = json!({"key": "api", "rate": {"limit": 2, "period": "PT1H"}});
    let sent = enqueue_many(&server, &limited("q", limit), 4);
    assert_eq!(server.fetch("q", 9).len(), 2);
    ack(&server, &sent[0]);
    server.kill();
    server.restart();
    assert!(server.fetch("q", 9).is_empty());
    assert_eq!(partition(&server, "api")["rate"]["current_count"], 2);
}

#[test]
fn the_spacing_of_a_throttle_survives_a_kill() {
    let mut server = start(&[]);
    let limit = json!({"key": "api", "throttle": {"limit": 1, "period": "PT1H"}});
    let sent = enqueue_many(&server, &limited("q", limit), 2);
    assert_eq!(server.fetch("q", 9).len(), 1);
    ack(&server, &sent[0]);
    server.kill();
    server.restart();
    assert!(server.fetch("q", 9).is_empty());
}
