//! What one connection of the hostile tenant does.

use crate::http::Request;
use crate::load::{QUEUE, job};

/// Nearly as large as a job may be by default.
pub(super) const HUGE: usize = 1_000_000;
/// How large a slow body says that it will be.
const SLOW_BODY: usize = 100_000;
/// Jobs in a batch with new names.
const BATCH: u64 = 100;
const WAIT_MS: u64 = 30_000;

/// Which part of the answers is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// An answer to each request, after which the next one is sent.
    Answers,
    /// An endless answer.
    Everything,
    Nothing,
}

/// What a connection does, again and again.
#[derive(Debug, Clone)]
pub(super) enum Role {
    /// Enqueues jobs, one per request.
    Enqueue { payload: usize },
    /// Sends a body byte by byte.
    SlowBody,
    /// Asks for lists of all its jobs.
    List { number: u64 },
    /// Asks for a list with as many bytes as it can get, and reads none of it.
    Unread,
    /// Enqueues jobs with ids, types, limit keys and queues that nobody has used, and asks for jobs
    /// that do not exist. `next` is the number of the next name, in steps of `step`.
    NewNames { next: u64, step: u64 },
    /// Reads an event stream.
    Stream,
    /// Waits for a job in a queue that has none.
    LongPoll { number: u64 },
}

impl Role {
    pub fn reads(&self) -> Reads {
        match self {
            Self::Unread => Reads::Nothing,
            Self::Stream => Reads::Everything,
            _ => Reads::Answers,
        }
    }

    /// Writes the next request.
    pub fn request(&mut self, out: &mut Request<'_>) {
        match self {
            Self::Enqueue { payload } => out.post("/ojs/v1/jobs", job(*payload).as_bytes()),
            Self::SlowBody => out.post_head("/ojs/v1/jobs", SLOW_BODY),
            Self::List { number } => {
                *number += 1;
                out.get(match *number % 4 {
                    0 => "/ojs/v1/jobs?limit=100",
                    1 => "/ojs/v1/jobs?limit=100&state=completed",
                    2 => "/ojs/v1/jobs?limit=100&type=nothing.like.it",
                    _ => "/ojs/v1/jobs?limit=100&order=asc",
                });
            }
            Self::Unread => out.get("/ojs/v1/jobs?limit=100"),
            Self::NewNames { next, step } => {
                new_names(*next, *next / *step, out);
                *next += *step;
            }
            Self::Stream => out.get("/ojs/v1/events/stream"),
            Self::LongPoll { number } => {
                let body = format!(
                    r#"{{"queues":["empty-{number}"],"worker_id":"hostile-{number}","wait_ms":{WAIT_MS}}}"#
                );
                out.post("/ojs/v1/workers/fetch", body.as_bytes());
            }
        }
    }

    /// Adds what a slow connection sends next. Returns whether there is something.
    pub fn drip(&self, out: &mut Vec<u8>) -> bool {
        if matches!(self, Self::SlowBody) {
            out.push(b' ');
        }
        matches!(self, Self::SlowBody)
    }
}

/// A request with names that have never been used; the kind of name depends on the number of the request.
fn new_names(number: u64, request: u64, out: &mut Request<'_>) {
    let id = |n: u64| format!("0190a5b0-0000-7000-8000-{n:012x}");
    let one = |members: String| format!(r#"{{"type":"bench.job","args":[]{members}}}"#);
    match request % 5 {
        0 => {
            let jobs = (0..BATCH).map(|n| {
                let id = id(number * BATCH + n);
                one(format!(r#","queue":"{QUEUE}","id":"{id}""#))
            });
            let jobs: Vec<String> = jobs.collect();
            let body = format!(r#"{{"jobs":[{}]}}"#, jobs.join(","));
            out.post("/ojs/v1/jobs/batch", body.as_bytes());
        }
        1 => {
            let key = format!(
                r#","queue":"{QUEUE}","rate_limit":{{"key":"key-{number}","concurrency":1}}"#
            );
            out.post("/ojs/v1/jobs", one(key).as_bytes());
        }
        2 => out.post("/ojs/v1/jobs", one(format!(r#","queue":"queue-{number}""#)).as_bytes()),
        3 => {
            let body = format!(r#"{{"type":"type-{number}","queue":"{QUEUE}","args":[]}}"#);
            out.post("/ojs/v1/jobs", body.as_bytes());
        }
        _ => out.get(&format!("/ojs/v1/jobs/{}", id(number))),
    }
}
