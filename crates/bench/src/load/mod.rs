//! What the connections of each measurement do.

mod cycle;
mod echo;
mod enqueue;
mod fetched;
mod handling;
mod latency;
mod varied;

pub(crate) use cycle::Cycle;
pub(crate) use echo::Echo;
pub(crate) use enqueue::Enqueue;
pub(crate) use handling::Handling;
pub(crate) use latency::{Part, Producer, Receiver};
pub(crate) use varied::{Limit, Varied, Variety};

use crate::BenchError;

/// The queue that is measured in, so that a server in use is left alone.
pub(crate) const QUEUE: &str = "rota-bench";

/// A job with so many bytes of payload.
pub(crate) fn job(payload: usize) -> String {
    let filler = "x".repeat(payload);
    format!(r#"{{"type":"bench.job","queue":"{QUEUE}","args":["{filler}"]}}"#)
}

/// The body of a request with so many of them.
pub(crate) fn batch_of(payload: usize, count: usize) -> String {
    format!(r#"{{"jobs":[{}]}}"#, vec![job(payload); count].join(","))
}

/// What a script has done to the server.
pub(crate) trait Tally {
    fn enqueued(&self) -> u64 {
        0
    }

    fn handled(&self) -> u64 {
        0
    }
}

/// The answer must have this status.
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
