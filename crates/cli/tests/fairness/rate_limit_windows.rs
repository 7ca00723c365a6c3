//! Limits by time: a window, a throttle, and what counts as a start. The engine's tests prove the rest.

use serde_json::json;

use crate::api::{enqueue_many, fresh, limited, shared};
use crate::shorthand::{ack, fresh_queue, ids};
use crate::watch::{assert_window, fetch_patiently, starts};

#[test]
fn a_window_lets_its_limit_through_at_once_and_no_more() {
    let server = shared();
    let (key, queue) = (fresh("email-provider"), fresh_queue());
    let limit = json!({"key": key, "rate": {"limit": 4, "period": "PT1H"}});
    let sent = enqueue_many(&server, &limited(&queue, limit), 9);
    assert_eq!(ids(&server.fetch(&queue, 9)), sent[..4]);
    // Ending them opens nothing: starts are counted.
    sent[..4].iter().for_each(|id| drop(ack(&server, id)));
    assert!(server.fetch(&queue, 9).is_empty());
    assert_eq!(server.job(&sent[4])["state"], "available");
}

#[test]
fn a_window_never_holds_more_than_its_limit() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let limit = json!({"key": key, "rate": {"limit": 3, "period": "PT1S"}});
    enqueue_many(&server, &limited(&queue, limit), 10);
    assert_window(&fetch_patiently(&server, &queue, 10), 3, 1000);
}

#[test]
fn a_throttle_spaces_starts_evenly() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let limit = json!({"key": key, "throttle": {"limit": 5, "period": "PT1S"}});
    enqueue_many(&server, &limited(&queue, limit), 7);
    assert_eq!(server.fetch(&queue, 9).len(), 1, "a throttle knows no burst");
    let jobs = fetch_patiently(&server, &queue, 6);
    assert_window(&jobs, 5, 1000);
    for pair in starts(&jobs).windows(2) {
        assert!(pair[1] - pair[0] >= 180, "{:?}", starts(&jobs));
    }
}

#[test]
fn a_longer_period_counts_what_started_before_it_was_asked_for() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let second = json!({"key": key, "rate": {"limit": 2, "period": "PT1S"}});
    enqueue_many(&server, &limited(&queue, second.clone()), 3);
    assert_eq!(fetch_patiently(&server, &queue, 3).len(), 3);
    let path = format!("/ojs/v1/rate-limits/{key}");
    let hour = json!({"rate": {"limit": 4, "period": "PT1H"}});
    server.put(&path, hour).expect(200);
    enqueue_many(&server, &limited(&queue, second), 3);
    assert_eq!(server.fetch(&queue, 9).len(), 1, "three of the four started before");
}

#[test]
fn a_return_of_a_job_is_a_start_like_any_other() {
    let server = shared();
    let (key, queue) = (fresh("api"), fresh_queue());
    let limit = json!({"key": key, "rate": {"limit": 2, "period": "PT1H"}});
    let id = server.enqueue(limited(&queue, limit));
    for _ in 0..2 {
        assert_eq!(server.fetch(&queue, 1).len(), 1);
        let body = json!({"job_id": id, "error": crate::shorthand::boom(), "requeue": true});
        server.post("/ojs/v1/workers/nack", body).expect(200);
    }
    assert!(server.fetch(&queue, 1).is_empty());
}
