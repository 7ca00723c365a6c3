//! A process that is stopped for longer than its workers may be silent.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Server;

const FLAGS: [&str; 4] =
    ["--workers-heartbeat-timeout", "2s", "--workers-heartbeat-interval", "1s"];

fn take(server: &Server, queue: &str, worker: &str) -> String {
    let id = server.enqueue(json!({"type": "a", "args": [], "queue": queue}));
    let fetch = json!({"queues": [queue], "worker_id": worker, "visibility_timeout_ms": 2_500});
    let jobs = server.post("/ojs/v1/workers/fetch", fetch).expect(200)["jobs"].clone();
    assert_eq!(jobs[0]["id"], id.as_str());
    beat(server, worker, &id);
    id
}

fn beat(server: &Server, worker: &str, job: &str) -> Value {
    let beat = json!({"worker_id": worker, "active_jobs": [job], "visibility_timeout_ms": 2_500});
    server.post("/ojs/v1/workers/heartbeat", beat).expect(200)
}

#[test]
fn workers_get_time_to_report_after_a_pause() {
    let server = Server::start_with(&FLAGS);
    let kept = take(&server, "q", "w1");
    let lost = take(&server, "r", "w2");
    server.signal("STOP");
    // Longer than the heartbeat timeout and the reservations.
    std::thread::sleep(Duration::from_secs(6));
    server.signal("CONT");
    let ack = json!({"job_id": kept, "worker_id": "w1", "attempt": 1});
    server.post("/ojs/v1/workers/ack", ack).expect(200);
    // Who stays silent loses its job all the same.
    let job = server.wait_for_state(&lost, "available");
    let error = job["error"]["type"].as_str().unwrap();
    assert!(["visibility_timeout", "worker_lost"].contains(&error), "{job}");
}
