//! Clients that take their time.

use std::io::ErrorKind;
use std::thread;
use std::time::{Duration, Instant};

use super::{assert_alive, assert_refusal};
use crate::support::Server;
use crate::wire::Wire;

const FLAGS: [&str; 4] = ["--http-header-timeout", "300ms", "--http-body-timeout", "300ms"];
/// A hundred times as long as it could take with nothing else to do, and more.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_head_that_comes_byte_by_byte_is_cut_off() {
    let server = Server::start_with(&FLAGS);
    let wire = Wire::open(server.address()).unwrap();
    let head = b"POST /ojs/v1/jobs HTTP/1.1\r\nContent-Type: application/json\r\nX-A: b\r\n";
    let begun = Instant::now();
    for byte in head.iter().cycle() {
        if wire.write(&[*byte]).is_err() || was_closed(&wire) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "it still listens");
        thread::sleep(Duration::from_millis(100));
    }
    assert_alive(&server);
}

#[test]
fn a_connection_that_says_nothing_is_cut_off() {
    let server = Server::start_with(&FLAGS);
    let silent = Wire::open(server.address()).unwrap();
    for wire in [silent, kept(&server)] {
        let begun = Instant::now();
        while !was_closed(&wire) {
            assert!(begun.elapsed() < PATIENCE, "it still waits");
            thread::sleep(Duration::from_millis(20));
        }
    }
    assert_alive(&server);
}

/// A connection on which there was a request in time.
fn kept(server: &Server) -> Wire {
    let begun = Instant::now();
    loop {
        let mut wire = Wire::open(server.address()).unwrap();
        match wire.get("/ojs/v1/health") {
            Ok(answer) if answer.status == 200 => return wire,
            other => assert!(begun.elapsed() < PATIENCE, "{other:?}"),
        }
    }
}

#[test]
fn a_body_that_comes_too_slowly_is_refused() {
    let server = Server::start_with(&FLAGS);
    let mut wire = Wire::open(server.address()).unwrap();
    wire.write(b"POST /ojs/v1/jobs HTTP/1.1\r\nContent-Length: 1000\r\n\r\n{").unwrap();
    let begun = Instant::now();
    while wire.write(b" ").is_ok() && !has_something(&wire) {
        assert!(begun.elapsed() < PATIENCE, "it still listens");
        thread::sleep(Duration::from_millis(50));
    }
    if let Ok(answer) = wire.answer() {
        assert_eq!(answer.status, 408, "{}", answer.text());
        assert_refusal(&answer, "a slow body");
    }
    assert_alive(&server);
}

#[test]
fn many_slow_clients_do_not_shut_others_out() {
    let flags = [&FLAGS[..], &["--http-max-connections", "20"]].concat();
    let server = Server::start_with(&flags);
    let slow: Vec<Wire> = (0..100)
        .map(|n| {
            let wire = Wire::open(server.address()).unwrap();
            if n % 2 == 0 {
                let _ = wire.write(b"POST /ojs/v1/jobs HTTP/1.1\r\nContent-Length: 99\r\n\r\n{");
            }
            wire
        })
        .collect();
    assert_alive(&server);
    drop(slow);
    assert_alive(&server);
}

/// The other side has ended the connection, perhaps with a last word.
fn was_closed(wire: &Wire) -> bool {
    has_something(wire)
}

fn has_something(wire: &Wire) -> bool {
    peek(wire).is_some()
}

/// How much there is to read: 0 at the end, `None` when nothing has come.
fn peek(wire: &Wire) -> Option<usize> {
    let stream = wire.stream();
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0; 16]);
    stream.set_nonblocking(false).unwrap();
    match peeked {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == ErrorKind::WouldBlock => None,
        Err(_) => Some(0),
    }
}
