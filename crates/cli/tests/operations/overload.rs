//! Far more requests than places: some are told to come back, none is lost, memory stays bounded.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::json;

use crate::support::Server;
use crate::wire::{Answer, Wire};

const CLIENTS: usize = 300;
const ROUNDS: usize = 15;
const BATCH: usize = 20;
/// Much more than the load needs, and much less than what was sent.
const MOST_KIB: u64 = 400 * 1024;

#[derive(Default)]
struct Tally {
    enqueued: AtomicU64,
    fetched: AtomicU64,
    acked: AtomicU64,
    refused: AtomicU64,
}

impl Tally {
    /// As many as are asked for, and more until there was something of everything.
    fn rounds(&self) -> impl Iterator<Item = usize> {
        let missing = |counter: &AtomicU64| counter.load(Ordering::Relaxed) == 0;
        (0..100 * ROUNDS).take_while(move |round| {
            *round < ROUNDS || missing(&self.acked) || missing(&self.refused)
        })
    }
}

#[test]
fn too_many_requests_get_a_retry_after() {
    let flags = ["--engine-commands", "16", "--engine-batch", "16", "--cache-bodies", "8MiB"];
    let mut server = Server::start_with(&flags);
    let address = server.address();
    let tally = Tally::default();
    thread::scope(|scope| {
        for n in 0..CLIENTS {
            let tally = &tally;
            thread::Builder::new()
                .stack_size(256 << 10)
                .spawn_scoped(scope, move || {
                    let mut wire = Wire::open(address).expect("there is a place for everyone");
                    match n % 3 {
                        0 | 1 => produce(&mut wire, tally),
                        _ => consume(&mut wire, tally),
                    }
                })
                .expect("a thread starts");
        }
    });
    let kib = memory_kib(server.pid());
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (enqueued, acked) = (count(&tally.enqueued), count(&tally.acked));
    let (fetched, refused) = (count(&tally.fetched), count(&tally.refused));
    println!("{enqueued} enqueued, {fetched} fetched, {acked} acked, {refused} refused, {kib} KiB");
    assert!(enqueued > 0 && acked > 0, "nothing got through");
    assert!(refused > 0, "{CLIENTS} clients fit into 16 places?");
    assert!(kib < MOST_KIB, "{kib} KiB");

    assert_counts(&server, enqueued, fetched, acked);
    assert_eq!(server.get("/ojs/v1/health").expect(200)["status"], "ok");
    assert_eq!(server.terminate().code(), Some(0));
    server.restart();
    assert_counts(&server, enqueued, fetched, acked);
}

fn produce(wire: &mut Wire, tally: &Tally) {
    let job = json!({"type": "a", "args": ["x".repeat(2_000)]});
    let batch = json!({"jobs": vec![job; BATCH]});
    for _ in tally.rounds() {
        let answer = wire.post("/ojs/v1/jobs/batch", &batch).expect("an answer");
        if taken(&answer, 201, tally) {
            tally.enqueued.fetch_add(BATCH as u64, Ordering::Relaxed);
        }
    }
}

fn consume(wire: &mut Wire, tally: &Tally) {
    let ask = json!({"queues": ["default"], "count": 5});
    for _ in tally.rounds() {
        let fetched = wire.post("/ojs/v1/workers/fetch", &ask).expect("an answer");
        if !taken(&fetched, 200, tally) {
            continue;
        }
        for job in fetched.json()["jobs"].as_array().expect("a list") {
            tally.fetched.fetch_add(1, Ordering::Relaxed);
            let ack = json!({"job_id": job["id"]});
            let acked = wire.post("/ojs/v1/workers/ack", &ack).expect("an answer");
            if taken(&acked, 200, tally) {
                tally.acked.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Done, or refused in the one right way.
fn taken(answer: &Answer, success: u16, tally: &Tally) -> bool {
    if answer.status == success {
        return true;
    }
    let body = answer.json();
    assert_eq!((answer.status, &body["error"]["retryable"]), (503, &json!(true)), "{body}");
    let after = answer.header("retry-after").and_then(|text| text.parse::<u64>().ok());
    assert!(after.is_some_and(|seconds| seconds >= 1), "{answer:?}");
    tally.refused.fetch_add(1, Ordering::Relaxed);
    false
}

#[track_caller]
fn assert_counts(server: &Server, enqueued: u64, fetched: u64, acked: u64) {
    let stats = server.get("/ojs/v1/admin/stats").expect(200);
    let jobs = &stats["jobs"];
    assert_eq!(jobs["completed"], acked, "{stats}");
    assert_eq!(jobs["active"], fetched - acked, "{stats}");
    assert_eq!(jobs["available"], enqueued - fetched, "{stats}");
    for state in ["completed", "active", "available"] {
        let path = format!("/ojs/v1/admin/jobs?state={state}&per_page=1");
        let page = server.get(&path).expect(200);
        assert_eq!(page["pagination"]["total"], jobs[state], "{page}");
    }
}

/// The most that it ever had in memory.
fn memory_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
