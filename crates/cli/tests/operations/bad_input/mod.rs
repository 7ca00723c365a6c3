//! Input that nobody should send: refused in the right words or cut off, and the server goes on.

mod bodies;
mod connections;
mod fields;
mod limits;
mod numbers;
mod paths;
mod protocol;
mod slow;
mod times;

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::Server;
use crate::wire::{Answer, Wire, request};

/// Every route that takes a body.
const TAKES_BODY: [(&str, &str); 22] = [
    ("POST", "/ojs/v1/jobs"),
    ("POST", "/ojs/v1/jobs/batch"),
    ("PATCH", "/ojs/v1/jobs/01976a3c-0000-7000-8000-00000000000f"),
    ("POST", "/ojs/v1/workers/fetch"),
    ("POST", "/ojs/v1/workers/ack"),
    ("POST", "/ojs/v1/workers/nack"),
    ("POST", "/ojs/v1/workers/heartbeat"),
    ("POST", "/ojs/v1/workers/register"),
    ("POST", "/ojs/v1/workers/deregister"),
    ("POST", "/ojs/v1/cron"),
    ("PATCH", "/ojs/v1/cron/nightly"),
    ("POST", "/ojs/v1/queues"),
    ("POST", "/ojs/v1/queues/default/purge"),
    ("POST", "/ojs/v1/jobs/bulk/cancel"),
    ("POST", "/ojs/v1/admin/jobs/bulk/cancel"),
    ("POST", "/ojs/v1/admin/system/maintenance"),
    ("POST", "/ojs/v1/admin/keys"),
    ("PUT", "/ojs/v1/admin/queues/default/config"),
    ("DELETE", "/ojs/v1/admin/queues/default/jobs"),
    ("DELETE", "/ojs/v1/admin/dead-letter"),
    ("DELETE", "/ojs/v1/dead-letter"),
    ("POST", "/ojs/v1/dead-letter/retry"),
];

/// One request on a connection of its own.
#[track_caller]
fn ask(server: &Server, method: &str, path: &str, body: &[u8]) -> Answer {
    let mut wire = Wire::open(server.address()).expect("the server listens");
    wire.write(&request(method, path, &[], body)).expect("it is read");
    wire.answer().unwrap_or_else(|error| panic!("{method} {path}: no answer: {error}"))
}

#[track_caller]
fn post(server: &Server, path: &str, body: &serde_json::Value) -> Answer {
    ask(server, "POST", path, body.to_string().as_bytes())
}

/// A refusal that is the client's to mend, with everything that an OJS error has.
#[track_caller]
fn assert_refusal(answer: &Answer, what: &str) {
    let body = answer.json();
    let error = &body["error"];
    let text = || format!("{what}: {} {}", answer.status, cut(&answer.text()));
    assert!((400..500).contains(&answer.status), "{}", text());
    for member in ["code", "message", "hint", "request_id"] {
        assert!(error[member].as_str().is_some_and(|text| !text.is_empty()), "{}", text());
    }
    assert!(error["retryable"].is_boolean(), "{}", text());
    assert_eq!(error["request_id"].as_str(), answer.header("x-request-id"), "{}", text());
}

#[track_caller]
fn assert_refused_with(answer: &Answer, statuses: &[u16], what: &str) {
    assert_refusal(answer, what);
    let text = cut(&answer.text());
    assert!(statuses.contains(&answer.status), "{what}: {} {text}", answer.status);
}

/// Taken or refused, but decided.
#[track_caller]
fn assert_decided(answer: &Answer, what: &str) {
    if !(200..300).contains(&answer.status) {
        assert_refusal(answer, what);
    }
}

/// The whole way of a job, on a queue of its own. A server that cuts off slow clients may do so with
/// this one too, on a machine that is held up; then it comes again.
#[track_caller]
fn assert_alive(server: &Server) {
    let until = Instant::now() + Duration::from_secs(60);
    while let Err(error) = live(server) {
        assert!(Instant::now() < until, "it does not answer: {error}");
    }
}

#[track_caller]
fn live(server: &Server) -> io::Result<()> {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let queue = format!("alive-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let mut wire = Wire::open(server.address())?;
    let enqueued =
        wire.post("/ojs/v1/jobs", &json!({"type": "alive", "args": [], "queue": queue}))?;
    assert_eq!(enqueued.status, 201, "{}", enqueued.text());
    let id = &enqueued.json()["job"]["id"];
    let fetched = wire.post("/ojs/v1/workers/fetch", &json!({"queues": [queue], "count": 10}))?;
    let jobs = &fetched.json()["jobs"];
    assert_eq!((jobs.as_array().map(Vec::len), &jobs[0]["id"]), (Some(1), id), "{jobs}");
    let acked = wire.post("/ojs/v1/workers/ack", &json!({"job_id": id}))?;
    assert_eq!(acked.status, 200, "{}", acked.text());
    Ok(())
}

fn cut(text: &str) -> String {
    text.chars().take(600).collect()
}
