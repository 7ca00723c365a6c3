//! Bodies that are sent slowly, or by nobody, while others send theirs.

use std::io::Write;
use std::net::TcpStream;

use serde_json::json;

use crate::secured::Secured;
use crate::support::Server;
use crate::support::wire::{Wire, request};

const MIB: usize = 1 << 20;

fn authorization(key: &str) -> String {
    format!("Authorization: Bearer {key}")
}

/// Begins a request with a body of a mebibyte, and sends half of it.
fn half_a_body(server: &Server, key: &str) -> Wire {
    let wire = Wire::open(server.address()).unwrap();
    let whole = request("POST", "/ojs/v1/jobs", &[&authorization(key)], &vec![b' '; MIB]);
    wire.write(&whole[..whole.len() - MIB / 2]).unwrap();
    wire
}

/// A job of nearly a mebibyte.
fn large_job() -> serde_json::Value {
    json!({"type": "a", "args": ["x".repeat(1000 << 10)]})
}

#[test]
fn half_sent_bodies_of_one_tenant_leave_room_for_others() {
    let server = Secured::start_with(&[
        "--limits-incoming-bytes",
        "8MiB",
        "--limits-incoming-bytes-per-tenant",
        "2MiB",
    ]);
    let keys = ["a", "b"].map(|tenant| server.key(tenant, &["enqueue", "inspect"]));
    let mut halves = Vec::from([(); 2].map(|()| half_a_body(&server.server, &keys[0])));
    // Both are under way as soon as a third finds no room: it waits for a while, and is told why.
    let refused = loop {
        let answer = server.post(&keys[0], "/ojs/v1/jobs", large_job());
        if answer.status != 201 {
            break answer;
        }
    };
    assert_eq!(refused.header("retry-after"), Some("1"));
    let error = refused.expect_error(429, "TENANT_LIMIT_EXCEEDED");
    assert_eq!(error["limit"], "incoming_bytes_per_tenant", "{error}");
    assert_eq!(error["maximum"], 2 * MIB);
    // Others go on, and so do the tenant's own short requests.
    server.post(&keys[1], "/ojs/v1/jobs", large_job()).expect(201);
    server.post(server.operator(), "/ojs/v1/jobs", large_job()).expect(201);
    server.post(&keys[0], "/ojs/v1/jobs", json!({"type": "a", "args": []})).expect(201);
    server.get(&keys[0], "/health").expect(200);
    // Room that becomes free goes to a request that waits.
    let mut waiting = half_a_body(&server.server, &keys[0]);
    let mut first = halves.swap_remove(0);
    first.write(&vec![b' '; MIB / 2]).unwrap();
    assert_eq!(first.answer().unwrap().status, 400, "it is not JSON");
    waiting.write(&vec![b' '; MIB / 2]).unwrap();
    assert_eq!(waiting.answer().unwrap().status, 400);
}

#[test]
fn a_body_of_unknown_length_is_counted_by_the_most_it_may_have() {
    let server = Secured::start_with(&[
        "--limits-body-bytes",
        "2MiB",
        "--limits-incoming-bytes-per-tenant",
        "2MiB",
    ]);
    let key = server.key("a", &["enqueue"]);
    let chunked = Wire::open(server.server.address()).unwrap();
    let head = format!(
        "POST /ojs/v1/jobs HTTP/1.1\r\nHost: rota\r\n{}\r\nTransfer-Encoding: chunked\r\n\r\n",
        authorization(&key)
    );
    chunked.write(head.as_bytes()).unwrap();
    chunked.write(b"4\r\n    \r\n").unwrap();
    while server.post(&key, "/ojs/v1/jobs", large_job()).status == 201 {}
    // Once it is there, it counts as what it is.
    chunked.write(b"0\r\n\r\n").unwrap();
    while server.post(&key, "/ojs/v1/jobs", large_job()).status != 201 {}
}

/// The memory that a process has in use, in bytes.
fn resident(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

#[cfg(target_os = "linux")]
#[test]
fn bodies_from_nobody_are_not_kept() {
    const LENGTH: usize = 15 * MIB;
    let server = Secured::start();
    let before = resident(&server.server);
    let mut open = Vec::new();
    for (path, status) in [("/ojs/v1/jobs", 401), ("/health", 200), ("/ojs/manifest", 200)] {
        for _ in 0..8 {
            let mut stream = TcpStream::connect(server.server.address()).unwrap();
            let whole = request("POST", path, &[], &vec![b' '; LENGTH]);
            // When this returns, the server has read all but what fits into the buffers of the connection.
            stream.write_all(&whole[..whole.len() - 1]).unwrap();
            open.push((stream, path, status));
        }
    }
    let grown = resident(&server.server).saturating_sub(before);
    assert!(grown < 4 * LENGTH, "{grown} bytes more for {} half-sent bodies", open.len());
    for (mut stream, path, status) in open {
        stream.write_all(b" ").unwrap();
        let answer = Wire::over(stream).answer().unwrap();
        let is_expected = answer.status == status || answer.status == 405;
        assert!(is_expected, "{path}: {}", answer.text());
    }
}
