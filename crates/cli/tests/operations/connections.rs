//! Whoever holds nearly all connections keeps nobody from being answered.

use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::support::Server;
use crate::wire::{Wire, request};

const FETCH: &str = "/ojs/v1/workers/fetch";

/// Of 40 connections two are kept back; the others do nothing here.
fn crowded() -> (Server, Vec<Wire>) {
    let server = Server::start_with(&["--http-max-connections", "40"]);
    let mut idle: Vec<Wire> = (0..38).map(|_| Wire::open(server.address()).unwrap()).collect();
    for wire in &mut idle {
        // An answer shows that the connection was accepted and has its place.
        assert_eq!(wire.get("/health").unwrap().status, 200);
    }
    (server, idle)
}

fn until(so: impl Fn() -> bool) {
    while !so() {
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_last_connections_serve_single_requests() {
    let (server, idle) = crowded();
    for _ in 0..10 {
        let mut wire = Wire::open(server.address()).unwrap();
        let answer = wire.get("/health").unwrap();
        assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
        assert_eq!(wire.rest().unwrap(), b"");
    }
    let ask = |path: &str, body| Wire::open(server.address()).unwrap().post(path, &body).unwrap();
    let job = json!({"type": "t", "args": [], "queue": "q", "meta": {"tenant_id": "new"}});
    assert_eq!(ask("/ojs/v1/jobs", job).status, 201);
    // A fetch gets what is there, and does not wait for what is not.
    let wait = json!({"queues": ["q"], "wait_ms": 30_000});
    assert_eq!(ask(FETCH, wait.clone()).status, 200);
    let refused = ask(FETCH, wait.clone());
    assert_eq!(refused.status, 503);
    assert!(refused.header("retry-after").is_some());
    let stream = request("GET", "/ojs/v1/events/stream", &[], b"");
    let mut wire = Wire::open(server.address()).unwrap();
    wire.write(&stream).unwrap();
    assert_eq!(wire.answer().unwrap().status, 503);
    // Those that say nothing make way, however many they are.
    let silent: Vec<Wire> = (0..60).map(|_| Wire::open(server.address()).unwrap()).collect();
    let mut wire = Wire::open(server.address()).unwrap();
    assert_eq!(wire.get("/health").unwrap().status, 200);
    drop(silent);
    // So do those that never end their requests.
    let half = b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: rota\r\nContent-Type: application/json\r\n\
        Content-Length: 100\r\n\r\n{\"type\":";
    let unfinished = |_| {
        let wire = Wire::open(server.address()).unwrap();
        wire.write(half).unwrap();
        wire
    };
    let unfinished: Vec<Wire> = (0..60).map(unfinished).collect();
    let mut wire = Wire::open(server.address()).unwrap();
    assert_eq!(wire.get("/health").unwrap().status, 200);
    drop(unfinished);
    // With the crowd gone, connections are as usual.
    drop(idle);
    let stays_open = || {
        let mut wire = Wire::open(server.address()).unwrap();
        wire.get("/health").unwrap().header("connection") != Some("close")
    };
    until(stays_open);
}

#[test]
fn waiting_fetches_leave_connections_to_others() {
    let server = Server::start_with(&["--http-max-connections", "40"]);
    let wait = |n: usize| {
        let body = json!({"queues": ["q"], "wait_ms": 30_000}).to_string();
        let tenant = format!("X-OJS-Tenant: t{n}");
        let wire = Wire::open(server.address()).unwrap();
        wire.write(&request("POST", FETCH, &[&tenant], body.as_bytes())).unwrap();
        wire
    };
    // Seven tenths may wait; the second half of what is kept back is not for invented tenants.
    let mut all: Vec<Wire> = (0..27).map(wait).collect();
    let waiting = || server.get("/ojs/v1/admin/stats").expect(200)["waiting_fetches"] == 27;
    until(waiting);
    let mut refused = wait(27);
    assert_eq!(refused.answer().unwrap().status, 503);
    let mut own: Vec<Wire> = (0..5).map(|_| Wire::open(server.address()).unwrap()).collect();
    for wire in &mut own {
        assert_eq!(wire.get("/health").unwrap().status, 200);
    }
    server.enqueue(json!({"type": "t", "args": [], "queue": "q", "meta": {"tenant_id": "t0"}}));
    assert_eq!(all[0].answer().unwrap().status, 200);
}
