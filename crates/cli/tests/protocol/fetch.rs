//! Handing out jobs: to whom, how many, and in which order.

use std::collections::HashSet;
use std::sync::Mutex;

use serde_json::{Value, json};

use crate::shorthand::{ids, job_on, job_with, text};
use crate::support::Server;

fn fetch_from(server: &Server, queues: &[&str], count: u32) -> Vec<Value> {
    let ask = json!({"queues": queues, "count": count});
    let body = server.post("/ojs/v1/workers/fetch", ask).expect(200);
    body["jobs"].as_array().expect("a list of jobs").clone()
}

#[test]
fn jobs_come_in_the_order_in_which_they_went_in() {
    let server = Server::start();
    let sent: Vec<String> = (0..20).map(|_| server.enqueue(job_on("q"))).collect();
    let mut got = ids(&server.fetch("q", 7));
    got.extend(ids(&server.fetch("q", 100)));
    assert_eq!(got, sent);
}

#[test]
fn higher_priorities_come_first() {
    let server = Server::start();
    let sent = [0, -100, 100, 5, -5, 100, 0].map(|priority| {
        server.enqueue(job_with("q", json!({"priority": priority, "args": [priority]})))
    });
    let jobs = server.fetch("q", 10);
    let order: Vec<_> = jobs.iter().filter_map(|job| job["priority"].as_i64()).collect();
    assert_eq!(order, [100, 100, 5, 0, 0, -5, -100]);
    let expected = [2, 5, 3, 0, 6, 4, 1].map(|n: usize| sent[n].clone());
    assert_eq!(ids(&jobs), expected, "equal priorities are in order");
}

#[test]
fn jobs_of_one_priority_keep_their_order_across_types() {
    let server = Server::start();
    let send = |n: usize| {
        server.enqueue(json!({"type": format!("kind.n{}", n % 3), "args": [n], "queue": "q"}))
    };
    let sent: Vec<String> = (0..12).map(send).collect();
    assert_eq!(ids(&server.fetch("q", 12)), sent);
}

#[test]
fn queues_are_served_from_left_to_right() {
    let server = Server::start();
    let a = server.enqueue(job_with("a", json!({"priority": -100})));
    let b = server.enqueue(job_with("b", json!({"priority": 100})));
    let c = server.enqueue(job_on("c"));
    assert_eq!(ids(&fetch_from(&server, &["c", "a"], 1)), [c]);
    assert_eq!(ids(&fetch_from(&server, &["a", "b", "c"], 5)), [a, b]);
}

#[test]
fn no_more_than_the_count_are_given_and_one_is_the_default() {
    let server = Server::start();
    (0..10).for_each(|_| drop(server.enqueue(job_on("q"))));
    let one = server.post("/ojs/v1/workers/fetch", json!({"queues": ["q"]})).expect(200);
    assert_eq!(one["jobs"].as_array().map(Vec::len), Some(1));
    assert_eq!(server.fetch("q", 4).len(), 4);
    assert_eq!(server.fetch("q", 100).len(), 5);
}

#[test]
fn an_empty_or_unknown_queue_gives_nothing_at_once() {
    let server = Server::start();
    assert!(server.fetch("never-heard-of", 5).is_empty());
    let id = server.enqueue(job_on("q"));
    assert_eq!(ids(&fetch_from(&server, &["never-heard-of", "q"], 5)), [id]);
    assert!(server.fetch("q", 5).is_empty());
    server.get("/ojs/v1/queues/never-heard-of").expect_error(404, "not_found");
}

#[test]
fn counts_and_queue_lists_have_bounds() {
    let server = Server::start();
    let fetch = |ask: Value| server.post("/ojs/v1/workers/fetch", ask);
    for count in [0, 1001] {
        let error =
            fetch(json!({"queues": ["q"], "count": count})).expect_error(422, "invalid_request");
        assert_eq!(error["details"]["field"], "count");
    }
    fetch(json!({"queues": ["q"], "count": 1000})).expect(200);
    fetch(json!({"queues": ["q"], "count": -1})).expect_error(400, "invalid_request");
    fetch(json!({"queues": []})).expect_error(400, "invalid_request");
    fetch(json!({})).expect_error(400, "invalid_request");
    fetch(json!({"queues": ["No Such Name!"]})).expect_error(400, "invalid_request");
    let many: Vec<String> = (0..101).map(|n| format!("q{n}")).collect();
    fetch(json!({"queues": many})).expect_error(400, "invalid_request");
}

#[test]
fn a_paused_queue_takes_jobs_and_gives_none() {
    let server = Server::start();
    server.post("/ojs/v1/queues/q/pause", json!({})).expect(200);
    let id = server.enqueue(job_on("q"));
    let other = server.enqueue(job_on("other"));
    assert!(server.fetch("q", 5).is_empty());
    assert_eq!(ids(&fetch_from(&server, &["q", "other"], 5)), [other]);
    server.post("/ojs/v1/queues/q/resume", json!({})).expect(200);
    assert_eq!(ids(&server.fetch("q", 5)), [id]);
}

#[test]
fn a_pause_survives_a_restart() {
    let mut server = Server::start();
    server.post("/ojs/v1/queues/q/pause", json!({})).expect(200);
    server.enqueue(job_on("q"));
    server.restart();
    assert!(server.fetch("q", 5).is_empty());
    assert_eq!(server.get("/ojs/v1/queues/q").expect(200)["status"], "paused");
}

#[test]
fn concurrent_fetchers_share_the_jobs_without_overlap() {
    const JOBS: usize = 400;
    let server = Server::start();
    let batch: Vec<Value> = (0..JOBS).map(|_| job_on("q")).collect();
    server.post("/ojs/v1/jobs/batch", json!({"jobs": batch})).expect(201);
    let seen = Mutex::new(Vec::new());
    let work = |n: u32| {
        loop {
            let jobs = server.fetch("q", n % 5 + 1);
            if jobs.is_empty() {
                return;
            }
            seen.lock()
                .unwrap()
                .extend(jobs.iter().map(|job| (text(&job["id"]), job["attempt"].clone())));
        }
    };
    std::thread::scope(|scope| {
        for n in 0..20 {
            scope.spawn(move || work(n));
        }
    });
    let seen = seen.into_inner().unwrap();
    assert!(seen.iter().all(|(_, attempt)| *attempt == 1));
    let distinct: HashSet<_> = seen.iter().map(|(id, _)| id).collect();
    assert_eq!((seen.len(), distinct.len()), (JOBS, JOBS));
}

#[test]
fn a_fetched_job_has_all_that_a_worker_needs() {
    let server = Server::start();
    let job = json!({"type": "email.send", "args": [1, {"a": null}], "queue": "q",
        "meta": {"trace": "t"}, "priority": 3});
    let id = server.enqueue(job);
    let ask = json!({"queues": ["q"], "worker_id": "w1"});
    let body = server.post("/ojs/v1/workers/fetch", ask).expect(200);
    let job = &body["jobs"][0];
    let expected = json!({"id": id, "specversion": "1.0", "type": "email.send", "queue": "q",
        "args": [1, {"a": null}], "meta": {"trace": "t"}, "priority": 3, "state": "active",
        "attempt": 1, "max_attempts": 3, "worker_id": "w1"});
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(job[key], *value, "{key} of {job}");
    }
    for key in ["created_at", "enqueued_at", "started_at"] {
        assert!(job[key].is_string(), "{key} of {job}");
    }
    assert_eq!(
        (&job["timeout_ms"], &job["visibility_timeout_ms"]),
        (&json!(1_800_000), &json!(1_800_000))
    );
}

#[test]
fn a_delayed_job_has_the_same_enqueued_at_in_the_fetch_as_elsewhere() {
    let server = Server::start();
    let id = server.enqueue(job_with("q", json!({"scheduled_at": "+PT0.1S"})));
    server.wait_for_state(&id, "available");
    let fetched = server.fetch("q", 1).remove(0);
    assert_eq!(fetched["enqueued_at"], server.job(&id)["enqueued_at"]);
}
