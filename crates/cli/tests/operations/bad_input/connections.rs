//! Connections that break, and too many of them.

use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::assert_alive;
use crate::support::Server;
use crate::wire::{Wire, request};

#[test]
fn connections_that_break_off_leave_nothing_behind() {
    let server = Server::start();
    let body = json!({"type": "a", "args": ["broken"], "queue": "broken"}).to_string();
    let bytes = request("POST", "/ojs/v1/jobs", &[], body.as_bytes());
    let whole = bytes.len();
    for keep in [1, 10, 40, whole - body.len(), whole - body.len() + 1, whole - 1] {
        for how in [Shutdown::Both, Shutdown::Write] {
            let mut wire = Wire::open(server.address()).unwrap();
            wire.write(&bytes[..keep]).unwrap();
            wire.stream().shutdown(how).unwrap();
            let said = wire.rest().unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            assert!(!said.contains(" 201 ") && !said.starts_with("HTTP/1.1 5"), "{keep}: {said}");
        }
    }
    let (head, chunk) =
        ("POST /ojs/v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\n{\"t");
    let wire = Wire::open(server.address()).unwrap();
    wire.write(format!("{head}{chunk}").as_bytes()).unwrap();
    drop(wire);
    assert_eq!(server.fetch("broken", 10), Vec::<Value>::new(), "half a job is no job");
    assert_alive(&server);
}

#[test]
fn clients_that_leave_before_the_answer_harm_nobody() {
    let server = Server::start();
    let jobs: Vec<Value> = (0..500)
        .map(|n| json!({"type": "a", "args": [n, "x".repeat(2_000)], "queue": "q"}))
        .collect();
    server.post("/ojs/v1/jobs/batch", json!({"jobs": jobs})).expect(201);
    for _ in 0..50 {
        let wire = Wire::open(server.address()).unwrap();
        let list = request("GET", "/ojs/v1/admin/jobs?per_page=100", &[], b"");
        wire.write(&list.repeat(5)).unwrap();
        // Hardly any of the answers is read.
        let _ = wire.stream().peek(&mut [0; 1]);
    }
    assert_alive(&server);
    assert_eq!(server.fetch("q", 1000).len(), 500);
}

#[test]
fn a_job_is_not_given_to_a_client_that_has_left() {
    let server = Server::start();
    let ask = json!({"queues": ["gone"], "wait_ms": 30_000}).to_string();
    let waiting = || server.get("/ojs/v1/admin/stats").expect(200)["waiting_fetches"].clone();
    let wires: Vec<Wire> = (0..20)
        .map(|_| {
            let wire = Wire::open(server.address()).unwrap();
            wire.write(&request("POST", "/ojs/v1/workers/fetch", &[], ask.as_bytes())).unwrap();
            wire
        })
        .collect();
    wait_until(|| waiting() == 20, "they wait");
    drop(wires);
    wait_until(|| waiting() == 0, "they are forgotten");
    let id = server.enqueue(json!({"type": "a", "args": [], "queue": "gone"}));
    let jobs = server.fetch("gone", 1);
    assert_eq!((&jobs[0]["id"], &jobs[0]["attempt"]), (&json!(id), &json!(1)));
}

/// Whatever was claimed for a client that is gone comes back without a lost attempt.
#[test]
fn jobs_fetched_by_clients_that_leave_at_once_come_back() {
    let server = Server::start_with(&["--jobs-visibility-timeout", "1s"]);
    let jobs: Vec<Value> = (0..50)
        .map(|n| {
            json!({"type": "a", "args": [n], "queue": "q",
            "retry": {"max_attempts": 100}})
        })
        .collect();
    server.post("/ojs/v1/jobs/batch", json!({"jobs": jobs})).expect(201);
    let ask = json!({"queues": ["q"], "count": 1}).to_string();
    for _ in 0..50 {
        let wire = Wire::open(server.address()).unwrap();
        wire.write(&request("POST", "/ojs/v1/workers/fetch", &[], ask.as_bytes())).unwrap();
        drop(wire);
    }
    let mut ended = 0;
    wait_until(
        || {
            for job in server.fetch("q", 100) {
                // One whose reservation ended meanwhile comes once more.
                let acked = server.post("/ojs/v1/workers/ack", json!({"job_id": job["id"]}));
                assert!(matches!(acked.status, 200 | 409), "{}", acked.text);
                ended += usize::from(acked.status == 200);
            }
            ended == 50
        },
        "all of them come back",
    );
}

#[test]
fn idle_connections_beyond_the_limit_wait_their_turn() {
    let flags = ["--http-max-connections", "100", "--http-header-timeout", "500ms"];
    let server = Server::start_with(&flags);
    let idle: Vec<TcpStream> =
        (0..500).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    // Its turn comes when those before it have been cut off.
    assert_alive(&server);
    drop(idle);
    assert_alive(&server);
}

fn wait_until(mut is_so: impl FnMut() -> bool, what: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "not after a minute: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
