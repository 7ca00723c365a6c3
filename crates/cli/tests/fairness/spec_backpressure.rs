//! The rows of the backpressure extension.

use serde_json::json;

use crate::api::{assert_has, bound, enqueue_many, retry_after, shared, start, state};
use crate::shorthand::{fresh_queue, ids, job_on, job_with};
use crate::support::JSON;
use crate::watch::{await_event, await_metric, nap};

#[test]
fn bp_001_a_queue_has_a_greatest_depth() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 3}));
    enqueue_many(&server, &job_on(&queue), 3);
    server.post("/ojs/v1/jobs", job_on(&queue)).expect(429);
    assert_eq!(server.fetch(&queue, 1).len(), 1);
    server.enqueue(job_on(&queue));
    assert_eq!(server.fetch(&queue, 9).len(), 3);
}

#[test]
fn bp_002_a_full_queue_refuses_with_429_and_retry_after() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 1, "strategy": "reject"}));
    server.enqueue(job_on(&queue));
    let reply = server.post("/ojs/v1/jobs", job_on(&queue));
    assert!(retry_after(&reply) >= 1);
    let error = reply.expect_error(429, "QUEUE_FULL");
    assert_has(&error, json!({"queue": queue, "depth": 1, "bound": 1, "strategy": "reject"}));
}

#[test]
fn bp_003_bounds_are_configured_by_an_operator() {
    let server = shared();
    let queue = fresh_queue();
    let config = json!({"max_depth": 50000, "max_size_bytes": 536_870_912, "strategy": "reject",
        "warning_threshold": 0.8});
    bound(&server, &queue, config.clone());
    let shown = server.get(&format!("/ojs/v1/admin/queues/{queue}")).expect(200);
    assert_has(&shown["configuration"]["backpressure"], config);
}

#[test]
fn bp_004_a_refusal_is_an_event() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 1}));
    server.enqueue(job_on(&queue));
    server.post("/ojs/v1/jobs", job_on(&queue)).expect(429);
    let event = await_event(&server, "backpressure.rejected", "queue", &queue);
    assert_has(&event, json!({"depth": 1, "bound": 1, "job_type": "test.job"}));
}

#[test]
fn bp_005_a_refusal_has_depth_and_bound_in_its_headers() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 2}));
    enqueue_many(&server, &job_on(&queue), 2);
    let reply = server.post("/ojs/v1/jobs", job_on(&queue));
    assert_eq!(reply.status, 429);
    assert_eq!(reply.header("X-OJS-Queue-Depth"), Some("2"));
    assert_eq!(reply.header("X-OJS-Queue-Bound"), Some("2"));
}

#[test]
fn bp_r001_a_queue_has_a_greatest_size() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_size_bytes": 3000}));
    let job = job_with(&queue, json!({"args": ["x".repeat(2000)]}));
    server.enqueue(job.clone());
    server.post("/ojs/v1/jobs", job).expect_error(429, "QUEUE_FULL");
}

#[test]
fn bp_r002_a_producer_can_wait_for_room() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 1, "strategy": "block"}));
    server.enqueue(job_on(&queue));
    let (server, body) = (&server, &job_on(&queue).to_string());
    std::thread::scope(|scope| {
        let headers = [JSON, ("OJS-Block-Timeout", "20")];
        let waiting = scope
            .spawn(move || server.send("POST", "/ojs/v1/jobs", &headers, Some(body.as_bytes())));
        nap(200);
        assert!(!waiting.is_finished());
        server.fetch(&queue, 1);
        waiting.join().unwrap().expect(201);
    });
}

#[test]
fn bp_r003_the_oldest_can_be_dropped() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 2, "strategy": "drop_oldest"}));
    let sent: Vec<String> = (0..3).map(|_| server.enqueue(job_on(&queue))).collect();
    assert_eq!(state(&server, &sent[0]), "discarded");
    let event = await_event(&server, "backpressure.dropped", "job_id", &sent[0]);
    assert_has(&event, json!({"queue": queue, "job_type": "test.job"}));
    assert_eq!(ids(&server.fetch(&queue, 9)), sent[1..]);
}

#[test]
fn bp_r004_pressure_is_in_the_headers_above_the_threshold() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 10}));
    enqueue_many(&server, &job_on(&queue), 8);
    let reply = server.post("/ojs/v1/jobs", job_on(&queue));
    assert_eq!(reply.header("X-OJS-Queue-Depth"), Some("9"));
    assert_eq!(reply.header("X-OJS-Queue-Bound"), Some("10"));
    let pressure: f64 = reply.header("X-OJS-Queue-Pressure").unwrap().parse().unwrap();
    assert!((0.89..=0.91).contains(&pressure), "{pressure}");
    reply.expect(201);
}

#[test]
fn bp_r005_pressure_is_a_metric() {
    let server = start(&[]);
    bound(&server, "q", json!({"max_depth": 4}));
    enqueue_many(&server, &job_on("q"), 1);
    await_metric(&server, "ojs_backpressure_pressure", &[("queue", "q")], 0.25);
}
