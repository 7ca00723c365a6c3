//! The scripts of the measurements.

mod cycle;
mod echo;
mod enqueue;
mod fetch_and_ack;
mod latency;
mod varied_jobs;
mod worker;

pub(crate) use cycle::Cycle;
pub(crate) use echo::Echo;
pub(crate) use enqueue::Enqueue;
pub(crate) use latency::{Part, Producer, Receiver};
pub(crate) use varied_jobs::{Limit, Varied, Variety};
pub(crate) use worker::Worker;

use crate::BenchError;

/// The queue for measurements, so that other queues of a running server are not affected.
pub(crate) const QUEUE: &str = "rota-bench";

/// The JSON of a job with `payload` bytes of arguments.
pub(crate) fn job(payload: usize) -> String {
    let filler = "x".repeat(payload);
    format!(r#"{{"type":"bench.job","queue":"{QUEUE}","args":["{filler}"]}}"#)
}

/// The body of a batch request with `count` such jobs.
pub(crate) fn batch_of(payload: usize, count: usize) -> String {
    format!(r#"{{"jobs":[{}]}}"#, vec![job(payload); count].join(","))
}

/// Counts the operations of a script.
pub(crate) trait Tally {
    fn enqueued(&self) -> u64 {
        0
    }

    fn handled(&self) -> u64 {
        0
    }
}

/// Checks the status of a response.
fn expect(status: u16, wanted: u16, body: &[u8]) -> Result<(), BenchError> {
    if status == wanted {
        return Ok(());
    }
    let shown = String::from_utf8_lossy(&body[..body.len().min(300)]);
    Err(BenchError::wrong(format!("status {status} instead of {wanted}: {shown}")))
}

fn contains(body: &[u8], text: &str) -> Result<(), BenchError> {
    if memchr::memmem::find(body, text.as_bytes()).is_some() {
        return Ok(());
    }
    let shown = String::from_utf8_lossy(&body[..body.len().min(300)]);
    Err(BenchError::wrong(format!("no {text} in {shown}")))
}
