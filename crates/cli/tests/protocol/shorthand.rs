//! The words that most scenarios begin with.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Reply, Server};

/// Asks until there is an answer.
#[track_caller]
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < until, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A queue that no other scenario on this server uses.
pub fn fresh_queue() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("q{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

pub fn job_on(queue: &str) -> Value {
    json!({"type": "test.job", "args": [], "queue": queue})
}

/// The same with more members.
pub fn job_with(queue: &str, more: Value) -> Value {
    merged(job_on(queue), more)
}

pub fn merged(mut base: Value, more: Value) -> Value {
    let members = base.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    base
}

/// A retry policy with short waits.
pub fn quick_retry(max_attempts: u32) -> Value {
    json!({"max_attempts": max_attempts, "initial_interval": "PT0.05S",
        "backoff_strategy": "constant", "jitter": false})
}

/// One job of this queue, waiting for it if need be.
#[track_caller]
pub fn take(server: &Server, queue: &str) -> Value {
    take_with(server, queue, json!({}))
}

#[track_caller]
pub fn take_with(server: &Server, queue: &str, more: Value) -> Value {
    let ask = merged(json!({"queues": [queue], "wait_ms": 30_000}), more);
    let body = server.post("/ojs/v1/workers/fetch", ask).expect(200);
    let jobs = body["jobs"].as_array().expect("a list of jobs");
    assert_eq!(jobs.len(), 1, "no job came: {body}");
    jobs[0].clone()
}

pub fn ids(jobs: &[Value]) -> Vec<String> {
    jobs.iter().map(|job| text(&job["id"])).collect()
}

#[track_caller]
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value}")).to_owned()
}

pub fn try_ack(server: &Server, id: &str) -> Reply {
    server.post("/ojs/v1/workers/ack", json!({"job_id": id}))
}

#[track_caller]
pub fn ack(server: &Server, id: &str) -> Value {
    try_ack(server, id).expect(200)
}

pub fn try_nack(server: &Server, id: &str, error: Value) -> Reply {
    server.post("/ojs/v1/workers/nack", json!({"job_id": id, "error": error}))
}

#[track_caller]
pub fn nack(server: &Server, id: &str, error: Value) -> Value {
    try_nack(server, id, error).expect(200)
}

pub fn boom() -> Value {
    json!({"type": "test.boom", "code": "boom", "message": "it broke"})
}

pub fn heartbeat(server: &Server, worker: &str, more: Value) -> Reply {
    server.post("/ojs/v1/workers/heartbeat", merged(json!({"worker_id": worker}), more))
}

#[track_caller]
pub fn register(server: &Server, worker: &str, more: Value) -> Value {
    let body = merged(json!({"worker_id": worker}), more);
    server.post("/ojs/v1/workers/register", body).expect(200)
}

/// Milliseconds since 1970 of a time that the server wrote.
#[track_caller]
pub fn millis(time: &Value) -> i64 {
    let text = time.as_str().unwrap_or_else(|| panic!("not a time: {time}"));
    let part = |range: std::ops::Range<usize>| -> i64 { text[range].parse().expect("digits") };
    let (year, month, day) = (part(0..4), part(5..7), part(8..10));
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 719_469;
    let fraction = match text.as_bytes()[19] {
        b'.' => part(20..23),
        _ => 0,
    };
    (days * 86_400 + part(11..13) * 3600 + part(14..16) * 60 + part(17..19)) * 1000 + fraction
}

/// The present, by the clock that the server has too.
pub fn now_ms() -> i64 {
    let since = std::time::UNIX_EPOCH.elapsed().expect("a time after 1970");
    since.as_millis() as i64
}

/// A well-formed id of a job that nobody enqueued.
pub const NOBODY: &str = "019461a8-1a2b-7c3d-8e4f-5a6b7c8d9e0f";
