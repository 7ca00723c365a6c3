//! Counters agree with what is listed, whatever has happened.

use serde_json::{Value, json};

use crate::shorthand::{ack, boom, heartbeat, job_on, job_with, nack, take, take_with};
use crate::shorthand::{eventually, try_nack};
use crate::states::{STATES, events, job_in};
use crate::support::{JSON, Server};

fn counted(server: &Server) -> Vec<u64> {
    let stats = server.get("/ojs/v1/admin/stats").expect(200);
    STATES.iter().map(|state| stats["jobs"][state].as_u64().expect("a count")).collect()
}

fn listed(server: &Server) -> Vec<u64> {
    let count = |state: &&str| {
        let path = format!("/ojs/v1/admin/jobs?state={state}&per_page=100");
        server.get(&path).expect(200)["items"].as_array().expect("items").len() as u64
    };
    STATES.iter().map(count).collect()
}

/// Something of everything.
fn live_through_it_all(server: &Server) {
    STATES.iter().for_each(|state| drop(job_in(server, state)));
    let expired = server.enqueue(job_with("q", json!({"expires_at": "+PT0.05S"})));
    server.wait_for_state(&expired, "discarded");
    server.post(&format!("/ojs/v1/admin/jobs/{expired}/retry"), json!({})).expect(200);
    take(server, "q");
    ack(server, &expired);
    let lapsed = server.enqueue(job_on("q"));
    take_with(server, "q", json!({"visibility_timeout_ms": 50}));
    server.wait_for_state(&lapsed, "available");
    take(server, "q");
    let requeue = json!({"job_id": lapsed, "error": boom(), "requeue": true});
    server.post("/ojs/v1/workers/nack", requeue).expect(200);
    server.delete(&format!("/ojs/v1/jobs/{lapsed}")).expect(200);
    let dead = server.enqueue(job_with("q", json!({"retry": {"max_attempts": 1}})));
    take(server, "q");
    nack(server, &dead, boom());
    server.delete(&format!("/ojs/v1/dead-letter/{dead}")).expect(200);
    let lost = server.enqueue(job_on("q"));
    take_with(server, "q", json!({"worker_id": "w1"}));
    heartbeat(server, "w1", json!({"active_jobs": [lost]})).expect(200);
    server.wait_for_state(&lost, "available");
    let late = server.enqueue(job_with("p", json!({"scheduled_at": "+PT0.05S"})));
    take(server, "p");
    try_nack(server, &late, boom()).expect(200);
    let purge = json!({"states": ["retryable"], "confirm": true}).to_string();
    let path = "/ojs/v1/admin/queues/p/jobs";
    server.send("DELETE", path, &[JSON], Some(purge.as_bytes())).expect(200);
}

#[test]
fn counters_agree_with_lists_before_and_after_a_restart() {
    let flags = ["--workers-heartbeat-timeout", "300ms", "--workers-heartbeat-interval", "100ms"];
    let mut server = Server::start_with(&flags);
    live_through_it_all(&server);
    let before = counted(&server);
    assert_eq!(before, listed(&server), "{STATES:?}");
    server.kill();
    server.restart();
    assert_eq!(counted(&server), before, "{STATES:?}");
    assert_eq!(listed(&server), before, "{STATES:?}");
}

#[test]
fn counters_of_queues_add_up_to_the_totals() {
    let flags = ["--workers-heartbeat-timeout", "300ms", "--workers-heartbeat-interval", "100ms"];
    let server = Server::start_with(&flags);
    live_through_it_all(&server);
    let body = server.get("/ojs/v1/admin/queues?per_page=100").expect(200);
    let queues = body["items"].as_array().expect("items").clone();
    let sum = |state: &&str| -> u64 {
        queues.iter().filter_map(|queue: &Value| queue["counts"][state].as_u64()).sum()
    };
    assert_eq!(STATES.iter().map(sum).collect::<Vec<_>>(), counted(&server), "{STATES:?}");
}

#[test]
fn a_worker_that_is_silent_for_long_is_forgotten() {
    let server = Server::start_with(&[
        "--workers-forget-after",
        "300ms",
        "--workers-heartbeat-timeout",
        "200ms",
        "--workers-heartbeat-interval",
        "100ms",
    ]);
    heartbeat(&server, "w1", json!({})).expect(200);
    assert_eq!(events(&server, "worker.started")[0]["subject"], "w1");
    eventually("the worker is forgotten", || {
        (server.get("/ojs/v1/admin/workers/w1").status == 404).then_some(())
    });
    assert_eq!(server.get("/ojs/v1/admin/stats").expect(200)["workers"], 0);
}
