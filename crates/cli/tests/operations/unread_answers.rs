//! Clients that do not read their answers.

use std::fs;
use std::io::Read;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::Server;
use crate::wire::{Wire, request};

const MIB: u64 = 1 << 20;

/// Bytes that the process has in memory.
fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
}

/// Sends a request and reads the first bytes of the answer, which is rendered by then.
fn read_the_beginning(server: &Server, path: &str) -> Wire {
    let wire = Wire::open(server.address()).unwrap();
    wire.write(&request("GET", path, &[], b"")).unwrap();
    let mut beginning = [0; 12];
    wire.stream().read_exact(&mut beginning).unwrap();
    assert_eq!(&beginning, b"HTTP/1.1 200");
    wire
}

#[test]
#[cfg(target_os = "linux")]
fn unread_lists_of_large_jobs_take_little_memory() {
    let server = Server::start_with(&["--cache-bodies", "0"]);
    let job = json!({"type": "a", "args": ["x".repeat(1000 << 10)]});
    (0..40).for_each(|_| drop(server.enqueue(job.clone())));
    let before = memory(server.pid());
    let path = "/ojs/v1/admin/jobs?limit=100";
    let wires: Vec<Wire> = (0..16).map(|_| read_the_beginning(&server, path)).collect();
    let used = memory(server.pid()).saturating_sub(before) / MIB;
    // All jobs twice would be 80 MiB for each. An answer has at most 8 MiB, and as much again is allowed
    // for what the allocator keeps.
    assert!(used < 16 * 16, "{} unread answers take {used} MiB", wires.len());
}

/// Sockets that the process has open.
fn open_sockets(pid: u32) -> usize {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
}

#[test]
#[cfg(target_os = "linux")]
fn a_client_that_reads_nothing_is_disconnected() {
    let server = Server::start_with(&["--http-write-timeout", "100ms"]);
    let job = json!({"type": "a", "args": ["x".repeat(1000 << 10)]});
    (0..8).for_each(|_| drop(server.enqueue(job.clone())));
    // A kept-alive connection of the test is there already.
    let before = open_sockets(server.pid());
    let mut wire = read_the_beginning(&server, "/ojs/v1/admin/jobs?limit=100");
    let until = Instant::now() + Duration::from_secs(60);
    while open_sockets(server.pid()) > before {
        assert!(Instant::now() < until, "the connection is still open");
        thread::sleep(Duration::from_millis(10));
    }
    let rest = wire.rest().unwrap();
    assert!(rest.len() < 8 << 20, "only what was under way arrives: {} bytes", rest.len());
}
