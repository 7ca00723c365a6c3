//! Bounded queues: what is refused, dropped and warned about.

use serde_json::{Value, json};

use crate::api::{
    assert_has, bound, enqueue_many, fresh, of, retry_after, shared, start, state, try_batch,
};
use crate::shorthand::{ack, boom, fresh_queue, ids, job_on, job_with, nack, quick_retry};
use crate::support::Server;
use crate::watch::{await_event, events_with, metric};

fn try_one(server: &Server, queue: &str) -> crate::support::Reply {
    server.post("/ojs/v1/jobs", job_on(queue))
}

#[test]
fn a_full_queue_refuses_and_tells_its_numbers() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 2}));
    enqueue_many(&server, &job_on(&queue), 2);
    let reply = try_one(&server, &queue);
    assert!(retry_after(&reply) >= 1);
    assert_eq!(reply.header("X-OJS-Queue-Depth"), Some("2"));
    assert_eq!(reply.header("X-OJS-Queue-Bound"), Some("2"));
    let error = reply.expect_error(429, "QUEUE_FULL");
    let message = format!("Queue '{queue}' has reached its depth bound (2)");
    assert_has(
        &error,
        json!({"queue": queue, "depth": 2, "bound": 2, "strategy": "reject", "message": message,
            "retryable": true}),
    );
    let event = await_event(&server, "backpressure.rejected", "queue", &queue);
    assert_has(&event, json!({"depth": 2, "bound": 2, "job_type": "test.job"}));
    assert_eq!(server.fetch(&queue, 9).len(), 2);
}

#[test]
fn the_depth_counts_what_waits_in_any_way() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 3}));
    let retried = server.enqueue(job_with(&queue, json!({"retry": {"initial_interval": "PT1H"}})));
    server.fetch(&queue, 1);
    nack(&server, &retried, boom());
    server.enqueue(job_with(&queue, json!({"scheduled_at": "2099-01-01T00:00:00Z"})));
    server.enqueue(job_on(&queue));
    try_one(&server, &queue).expect_error(429, "QUEUE_FULL");
    assert_eq!(server.fetch(&queue, 1).len(), 1);
    server.enqueue(job_on(&queue));
}

#[test]
fn a_return_to_a_full_queue_is_never_refused() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 1}));
    let first = server.enqueue(job_with(&queue, json!({"retry": quick_retry(3)})));
    server.fetch(&queue, 1);
    server.enqueue(job_on(&queue));
    nack(&server, &first, boom());
    server.wait_for_state(&first, "available");
    assert_eq!(server.fetch(&queue, 9).len(), 2);
}

#[test]
fn a_batch_is_accepted_or_refused_whole() {
    let server = shared();
    let (queue, free) = (fresh_queue(), fresh_queue());
    bound(&server, &queue, json!({"max_depth": 3}));
    enqueue_many(&server, &job_on(&queue), 2);
    let jobs = [job_on(&free), job_on(&queue), job_on(&queue)];
    try_batch(&server, &jobs).expect_error(429, "QUEUE_FULL");
    assert!(server.fetch(&free, 9).is_empty());
    enqueue_many(&server, &job_on(&queue), 1);
}

#[test]
fn unbounded_is_the_default_and_zero() {
    let server = shared();
    for config in [None, Some(json!({"max_depth": 0})), Some(json!({"max_size_bytes": 0}))] {
        let queue = fresh_queue();
        config.into_iter().for_each(|config| drop(bound(&server, &queue, config)));
        enqueue_many(&server, &job_on(&queue), 20);
        let reply = try_one(&server, &queue);
        assert_eq!(reply.header("X-OJS-Queue-Bound"), None);
    }
}

#[test]
fn a_bound_can_be_in_bytes() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_size_bytes": 5000}));
    let job = job_with(&queue, json!({"args": ["x".repeat(2000)]}));
    server.enqueue(job.clone());
    server.enqueue(job.clone());
    server.post("/ojs/v1/jobs", job.clone()).expect_error(429, "QUEUE_FULL");
    let stats = server.get(&format!("/ojs/v1/queues/{queue}/stats")).expect(200);
    assert!(stats["stats"]["size_bytes"].as_u64().is_some_and(|bytes| bytes > 4000), "{stats}");
    ack(&server, &ids(&server.fetch(&queue, 1))[0]);
    server.enqueue(job);
}

#[test]
fn of_two_bounds_the_first_that_is_reached_counts() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 1, "max_size_bytes": 1_000_000}));
    server.enqueue(job_on(&queue));
    try_one(&server, &queue).expect(429);
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 100, "max_size_bytes": 3000}));
    let large = job_with(&queue, json!({"args": ["x".repeat(2000)]}));
    server.enqueue(large.clone());
    server.post("/ojs/v1/jobs", large).expect(429);
}

#[test]
fn the_oldest_is_dropped_for_the_newest() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 3, "strategy": "drop_oldest"}));
    let sent: Vec<String> = (0..5).map(|_| server.enqueue(job_on(&queue))).collect();
    for dropped in &sent[..2] {
        assert_eq!(state(&server, dropped), "discarded");
        let event = await_event(&server, "backpressure.dropped", "job_id", dropped);
        assert_has(&event, json!({"queue": queue, "job_type": "test.job"}));
    }
    assert_eq!(ids(&server.fetch(&queue, 9)), sent[2..]);
}

#[test]
fn only_what_is_available_is_dropped() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 2, "strategy": "drop_oldest"}));
    let active = server.enqueue(job_on(&queue));
    assert_eq!(server.fetch(&queue, 1).len(), 1);
    let later = server.enqueue(job_with(&queue, json!({"scheduled_at": "2099-01-01T00:00:00Z"})));
    let old = server.enqueue(job_on(&queue));
    let new = server.enqueue(job_on(&queue));
    assert_eq!(state(&server, &active), "active");
    assert_eq!(state(&server, &later), "scheduled");
    assert_eq!(state(&server, &old), "discarded");
    assert_eq!(ids(&server.fetch(&queue, 9)), [new]);
}

#[test]
fn a_batch_drops_as_many_as_it_needs() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 4, "strategy": "drop_oldest"}));
    let old = enqueue_many(&server, &job_on(&queue), 4);
    let new = enqueue_many(&server, &job_on(&queue), 3);
    assert_eq!(ids(&server.fetch(&queue, 9)), [&old[3..], &new[..]].concat());
}

#[test]
fn pressure_is_reported_before_the_queue_is_full() {
    let server = shared();
    let queue = fresh_queue();
    bound(&server, &queue, json!({"max_depth": 10, "warning_threshold": 0.5}));
    let first = try_one(&server, &queue);
    assert_eq!(first.header("X-OJS-Queue-Pressure"), None);
    enqueue_many(&server, &job_on(&queue), 5);
    let reply = try_one(&server, &queue);
    assert_eq!(reply.header("X-OJS-Queue-Depth"), Some("7"));
    assert_eq!(reply.header("X-OJS-Queue-Bound"), Some("10"));
    let pressure: f64 = reply.header("X-OJS-Queue-Pressure").unwrap().parse().unwrap();
    assert!((0.69..=0.71).contains(&pressure), "{pressure}");
    reply.expect(201);
    let warning = await_event(&server, "backpressure.warning", "queue", &queue);
    assert_eq!(warning["bound"], 10);
    assert!(warning["depth"].as_u64().is_some_and(|depth| (5..=7).contains(&depth)), "{warning}");
    assert_eq!(events_with(&server, "backpressure.warning", "queue", &queue).len(), 1);
    server.fetch(&queue, 6);
    let cleared = await_event(&server, "backpressure.cleared", "queue", &queue);
    assert_eq!(cleared["bound"], 10);
    assert!(cleared["depth"].as_u64().is_some_and(|depth| depth <= 5), "{cleared}");
}

#[test]
fn a_queue_can_bound_each_tenant() {
    let server = shared();
    let (acme, beta, queue) = (fresh("acme"), fresh("beta"), fresh_queue());
    bound(&server, &queue, json!({"max_depth": 100, "per_tenant": {"max_depth": 1}}));
    server.enqueue(of(&acme, &queue));
    server.post("/ojs/v1/jobs", of(&acme, &queue)).expect_error(429, "QUEUE_FULL");
    server.enqueue(of(&beta, &queue));
}

#[test]
fn bounds_survive_a_restart_and_are_shown() {
    let mut server = start(&[]);
    let config = json!({"max_depth": 1, "strategy": "reject", "warning_threshold": 0.9});
    bound(&server, "q", config.clone());
    server.enqueue(job_on("q"));
    server.restart();
    let shown = server.get("/ojs/v1/admin/queues/q").expect(200);
    assert_has(&shown["configuration"]["backpressure"], config);
    try_one(&server, "q").expect_error(429, "QUEUE_FULL");
    let stats = server.get("/ojs/v1/queues/q/stats").expect(200)["stats"].clone();
    assert_has(&stats, json!({"depth": 1, "queue": "q", "bound": 1, "pressure": 1.0}));
    assert!(metric(&server, "ojs_backpressure_pressure", &[("queue", "q")]).is_some());
}

#[test]
fn bounds_may_stand_at_the_top() {
    let server = shared();
    let queue = fresh_queue();
    let path = format!("/ojs/v1/admin/queues/{queue}/config");
    server.put(&path, json!({"max_size": 1, "strategy": "reject"})).expect(200);
    server.enqueue(job_on(&queue));
    try_one(&server, &queue).expect_error(429, "QUEUE_FULL");
}

#[test]
fn bounds_that_make_no_sense_are_refused() {
    let server = shared();
    let path = format!("/ojs/v1/admin/queues/{}/config", fresh_queue());
    for bad in [
        json!({"max_depth": -1}),
        json!({"max_depth": "much"}),
        json!({"strategy": "explode"}),
        json!({"warning_threshold": 1.5}),
        json!({"max_dept": 1}),
    ] {
        let reply = server.put(&path, json!({"backpressure": bad}));
        assert!(matches!(reply.status, 400 | 422), "{bad}: {}", reply.text);
    }
    server.put(&path, json!({"backpressure": {"max_depth": 1}})).expect(200);
    let none: Value = server.put(&path, json!({"backpressure": null})).expect(200);
    assert!(none["configuration"]["backpressure"].is_null(), "{none}");
}

#[test]
fn a_batch_that_will_never_fit_is_not_asked_for_again() {
    let (server, queue) = (shared(), fresh_queue());
    for strategy in ["reject", "block", "drop_oldest"] {
        bound(&server, &queue, json!({"max_depth": 2, "strategy": strategy}));
        let reply = try_batch(&server, &vec![job_on(&queue); 3]);
        assert_eq!(reply.header("Retry-After"), None, "{strategy}");
        let error = reply.expect_error(429, "QUEUE_FULL");
        assert_has(&error, json!({"retryable": false, "bound": 2, "strategy": strategy}));
    }
}
