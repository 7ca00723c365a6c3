//! Fetches over HTTP/1.1 whose answer cannot be written: the jobs go back at once, and the attempts do not count.

use std::io::Read;
use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::authority::Authority;
use crate::http2::wait_for;
use crate::secure::{self, Options, SecureWire};
use crate::support::Server;
use crate::wire::{Wire, request};

pub const JOBS: u32 = 6;

/// Several of these do not fit into the buffers of a connection.
pub fn large_job(queue: &str) -> Value {
    json!({"type": "a", "queue": queue, "args": ["x".repeat(1000 << 10)]})
}

fn fetch_request(queue: &str, count: u32) -> Vec<u8> {
    let body = json!({"queues": [queue], "count": count}).to_string();
    request("POST", "/ojs/v1/workers/fetch", &[], body.as_bytes())
}

/// A connection whose client has a small buffer for what it does not read.
pub async fn narrow(address: SocketAddr) -> tokio::net::TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    socket.connect(address).await.unwrap()
}

/// Fetches all jobs, reads the first bytes of the answer, and resets the connection.
fn fetch_and_reset(server: &Server, queue: &str, ids: &[String]) {
    wait_for(async {
        let mut stream = narrow(server.address()).await.into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        std::io::Write::write_all(&mut stream, &fetch_request(queue, JOBS)).unwrap();
        let mut beginning = [0; 12];
        stream.read_exact(&mut beginning).unwrap();
        assert_eq!(&beginning, b"HTTP/1.1 200");
        ids.iter().for_each(|id| assert_eq!(server.job(id)["state"], "active"));
        // What was not read makes it a reset.
        drop(stream);
    });
}

#[test]
fn jobs_of_a_reset_connection_go_back_at_once() {
    let server = Server::start();
    let ids: Vec<_> = (0..JOBS).map(|_| server.enqueue(large_job("q"))).collect();
    fetch_and_reset(&server, "q", &ids);
    ids.iter().for_each(|id| drop(server.wait_for_state(id, "available")));
    let again = server.fetch("q", JOBS);
    let attempts: Vec<_> = again.iter().map(|job| job["attempt"].clone()).collect();
    assert_eq!(attempts, [1; JOBS as usize]);
}

#[test]
fn starts_whose_answer_was_partly_sent_count_for_a_rate_limit() {
    let server = Server::start();
    let mut job = large_job("q");
    job["rate_limit"] = json!({"key": "k", "rate": {"limit": JOBS, "period": "PT1H"}});
    let ids: Vec<_> = (0..JOBS).map(|_| server.enqueue(job.clone())).collect();
    fetch_and_reset(&server, "q", &ids);
    ids.iter().for_each(|id| drop(server.wait_for_state(id, "available")));
    assert!(server.fetch("q", JOBS).is_empty(), "the worker may have begun");
}

#[test]
fn an_answer_that_was_taken_is_delivered_however_the_connection_ends() {
    let server = Server::start();
    let id = server.enqueue(json!({"type": "a", "args": [], "queue": "q"}));
    let mut wire = Wire::open(server.address()).unwrap();
    wire.write(&fetch_request("q", 1)).unwrap();
    assert_eq!(wire.answer().unwrap().status, 200);
    // Its answer is not read, which makes the end a reset.
    wire.write(&request("GET", "/health", &[], b"")).unwrap();
    let mut first = [0];
    wire.stream().peek(&mut first).unwrap();
    drop(wire);
    let others: Vec<_> = (0..JOBS).map(|_| server.enqueue(large_job("r"))).collect();
    fetch_and_reset(&server, "r", &others);
    // That the others are back proves that the server has seen that connection end, and this one before it.
    others.iter().for_each(|id| drop(server.wait_for_state(id, "available")));
    assert_eq!(server.job(&id)["state"], "active");
}

#[test]
fn jobs_go_back_over_tls_too() {
    let authority = Authority::new();
    let server = secure::start(&authority, &[]);
    let mut other = secure::connect(&server, &authority, &Options::default()).unwrap();
    let enqueue = |wire: &mut SecureWire| {
        let made = wire.post("/ojs/v1/jobs", &large_job("q")).unwrap().json();
        made["job"]["id"].as_str().unwrap().to_owned()
    };
    // More than the buffers of a connection with room for much.
    let ids: Vec<_> = (0..8).map(|_| enqueue(&mut other)).collect();
    let state = |wire: &mut SecureWire, id: &str| {
        wire.get(&format!("/ojs/v1/jobs/{id}")).unwrap().json()["job"]["state"].clone()
    };
    let mut wire = secure::connect(&server, &authority, &Options::default()).unwrap();
    wire.send(&fetch_request("q", 8)).unwrap();
    let mut first = [0];
    assert_eq!(wire.read(&mut first).unwrap(), 1);
    ids.iter().for_each(|id| assert_eq!(state(&mut other, id), "active"));
    drop(wire);
    for id in &ids {
        while state(&mut other, id) != "available" {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    let fetch = json!({"queues": ["q"]});
    let again = other.post("/ojs/v1/workers/fetch", &fetch).unwrap().json();
    assert_eq!(again["jobs"][0]["attempt"], 1, "{again}");
}
