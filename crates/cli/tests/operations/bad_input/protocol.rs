//! Things that are not quite HTTP.

use std::time::Duration;

use serde_json::json;

use super::{assert_alive, assert_refused_with};
use crate::seeded_random::Dice;
use crate::support::Server;
use crate::wire::{Wire, request};

#[test]
fn garbage_is_cut_off() {
    let server = Server::start();
    let mut dice = Dice::new(7);
    let noise: Vec<u8> = (0..20_000).map(|_| dice.roll() as u8).collect();
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(10_000));
    let large = format!("GET / HTTP/1.1\r\nBig: {}\r\n\r\n", "x".repeat(100 << 10));
    let endless = format!("GET / HTTP/1.1\r\nBig: {}", "x".repeat(2 << 20));
    let cases: [&[u8]; 18] = [
        &noise,
        b"\0\0\0\0\r\n\r\n",
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET  / HTTP/1.1\r\n\r\n",
        b"GET /\x01 HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: \0\r\n\r\n",
        b"POST /ojs/v1/jobs HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /ojs/v1/jobs HTTP/1.1\r\nContent-Length: abc\r\n\r\n",
        b"POST /ojs/v1/jobs HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
        b"POST /ojs/v1/jobs HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n{}",
        b"POST /ojs/v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
        many.as_bytes(),
        large.as_bytes(),
        endless.as_bytes(),
    ];
    for bytes in cases {
        let mut wire = Wire::open(server.address()).unwrap();
        let what = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        // It may hang up in the middle.
        let _ = wire.write(bytes);
        let _ = wire.stream().shutdown(std::net::Shutdown::Write);
        let said = wire.rest().unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        assert!(!said.starts_with("HTTP/1.1 5"), "{what}: {said}");
        assert!(!said.starts_with("HTTP/1.1 2"), "{what}: {said}");
    }
    assert_alive(&server);
}

#[test]
fn requests_that_cannot_be_parsed_get_an_error_with_a_body() {
    let server = Server::start();
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(200));
    let endless = format!("GET / HTTP/1.1\r\nBig: {}", "x".repeat(1 << 20));
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000));
    let cases: [(&[u8], u16); 11] = [
        (b"hello\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 400),
        (b"GET /\x01 HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"POST /ojs/v1/jobs HTTP/1.1\r\nContent-Length: abc\r\n\r\n", 400),
        (b"POST /ojs/v1/jobs HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}", 400),
        (b"POST /ojs/v1/jobs HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n{}", 400),
        (b"POST /ojs/v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}", 400),
        (many.as_bytes(), 431),
        (endless.as_bytes(), 431),
        (long.as_bytes(), 414),
    ];
    for (bytes, status) in cases {
        let mut wire = Wire::open(server.address()).unwrap();
        let what = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        wire.write(bytes).unwrap();
        let answer = wire.answer().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_refused_with(&answer, &[status], &what);
        assert_eq!(answer.header("content-type"), Some("application/openjobspec+json"), "{what}");
        assert_eq!(answer.header("connection"), Some("close"), "{what}");
        assert_eq!(wire.rest().unwrap_or_default(), b"", "{what}");
    }
    // The answers before it are not affected.
    let mut wire = Wire::open(server.address()).unwrap();
    wire.write(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\nhello\r\n\r\n").unwrap();
    assert_eq!(wire.answer().unwrap().status, 200);
    assert_refused_with(&wire.answer().unwrap(), &[400], "a second request that is not HTTP");
    assert_alive(&server);
}

#[test]
fn a_client_that_has_closed_its_side_gets_its_answer() {
    let server = Server::start();
    let ask = |request: Vec<u8>| {
        let mut wire = Wire::open(server.address()).unwrap();
        wire.write(&request).unwrap();
        wire.stream().shutdown(std::net::Shutdown::Write).unwrap();
        // Shorter than what the requests below would wait.
        wire.stream().set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let answer = wire.answer().unwrap();
        assert_eq!(wire.rest().unwrap_or_default(), b"");
        answer
    };
    let body = json!({"type": "a", "args": [], "queue": "half"}).to_string();
    let answer = ask(request("POST", "/ojs/v1/jobs", &[], body.as_bytes()));
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(ask(request("GET", "/ojs/v1/queues/half", &[], b"")).status, 200);
    // It may be gone, so a fetch reserves nothing for it while it waits.
    let fetch = json!({"queues": ["empty"], "wait_ms": 30_000}).to_string();
    let answer = ask(request("POST", "/ojs/v1/workers/fetch", &[], fetch.as_bytes()));
    assert_eq!((answer.status, answer.json()["jobs"].clone()), (200, json!([])));
    let held = server.fetch("half", 1);
    assert_eq!(held.len(), 1);
    // Nor does anything wait for the result of its job.
    let path = format!("/ojs/v1/jobs/{}/result?wait=30", held[0]["id"].as_str().unwrap());
    assert_eq!(ask(request("GET", &path, &[], b"")).status, 408);
}

#[test]
fn headers_that_ask_for_the_impossible_are_refused_or_ignored() {
    let server = Server::start();
    let long = format!("X-Request-Id: {}", "r".repeat(10_000));
    let body = json!({"type": "a", "args": []}).to_string();
    for (header, statuses) in [
        ("OJS-Version: 9.9", &[422][..]),
        ("OJS-Version: \u{7f}", &[400, 422]),
        ("X-OJS-Tenant: -acme", &[400]),
        ("X-OJS-Tenant: ", &[400]),
        ("X-Request-Id: a b c", &[201]),
        (&long, &[201]),
        ("Accept: image/png", &[201]),
        ("Content-Encoding: gzip", &[415]),
        ("Content-Encoding: identity", &[201]),
    ] {
        let mut wire = Wire::open(server.address()).unwrap();
        wire.write(&request("POST", "/ojs/v1/jobs", &[header], body.as_bytes())).unwrap();
        let answer = wire.answer().unwrap();
        let what = &header[..header.len().min(60)];
        assert!(statuses.contains(&answer.status), "{what}: {}", answer.text());
        assert!(answer.header("x-request-id").is_none_or(|id| id.len() <= 200), "{what}");
    }
    for kind in ["text/plain", "application/xml", "", "\u{7f}", "application/json5"] {
        let head = format!(
            "POST /ojs/v1/jobs HTTP/1.1\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut wire = Wire::open(server.address()).unwrap();
        wire.write(head.as_bytes()).unwrap();
        let answer = wire.answer().unwrap();
        assert!((400..500).contains(&answer.status), "{kind}: {}", answer.text());
    }
    assert_alive(&server);
}

#[test]
fn expect_100_continue_is_honoured() {
    let server =
        Server::start_with(&["--limits-body-bytes", "64KiB", "--limits-job-bytes", "8KiB"]);
    let body = json!({"type": "a", "args": ["continued"]}).to_string();
    let mut wire = Wire::open(server.address()).unwrap();
    let head = format!(
        "POST /ojs/v1/jobs HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    wire.write(head.as_bytes()).unwrap();
    assert_eq!(wire.answer().unwrap().status, 100, "it wants the body");
    wire.write(body.as_bytes()).unwrap();
    assert_eq!(wire.answer().unwrap().status, 201);
    let mut wire = Wire::open(server.address()).unwrap();
    wire.write(
        b"POST /ojs/v1/nowhere HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
    )
    .unwrap();
    assert_eq!(wire.answer().unwrap().status, 404, "it does not want the body");
    assert_alive(&server);
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let server = Server::start();
    let mut wire = Wire::open(server.address()).unwrap();
    let mut bytes = Vec::new();
    for n in 0..60 {
        let id = format!("X-Request-Id: pipe-{n}");
        let job = json!({"type": "a", "args": [n], "queue": "pipe"}).to_string();
        match n % 3 {
            0 => bytes.extend(request("POST", "/ojs/v1/jobs", &[&id], job.as_bytes())),
            1 => bytes.extend(request("GET", "/ojs/v1/health", &[&id], b"")),
            _ => bytes.extend(request("POST", "/ojs/v1/jobs", &[&id], b"{broken")),
        }
    }
    wire.write(&bytes).unwrap();
    for n in 0..60 {
        let answer = wire.answer().unwrap();
        assert_eq!(answer.header("x-request-id"), Some(&*format!("pipe-{n}")));
        assert_eq!(answer.status, [201, 200, 400][n % 3], "{}", answer.text());
    }
    assert_eq!(server.fetch("pipe", 100).len(), 20);
    assert_alive(&server);
}
