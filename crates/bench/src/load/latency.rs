//! The scripts that measure the time from enqueue to receipt.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use memchr::memmem;

use super::fetch_and_ack::{Id, ack, acked, fetch, ids};
use super::{QUEUE, contains, expect};
use crate::BenchError;
use crate::http::{Request, Script};
use crate::measurement::histogram;

/// A producer that writes the send time into each job, or a receiver that waits for jobs and reads it.
pub(crate) enum Part {
    Producer(Producer),
    Receiver(Receiver),
}

pub(crate) struct Producer {
    start: Instant,
    filler: String,
    pub accepted: u64,
}

pub(crate) struct Receiver {
    start: Instant,
    /// Jobs sent before this time do not count.
    from: Instant,
    /// Whether it continues until all jobs have been received.
    drains: bool,
    worker: String,
    held: Vec<Id>,
    is_empty: bool,
    kind: usize,
    pub handled: u64,
    /// Times from enqueue to receipt.
    pub times: Histogram<u64>,
}

const SENT: &[u8] = br#""args":["#;
const WAIT_MS: u64 = 1000;
const MOST: usize = 10;

impl Part {
    pub const ENQUEUE: usize = 0;
    const FETCH: usize = 1;
    const ACK: usize = 2;
}

impl Producer {
    pub fn new(start: Instant, payload: usize) -> Self {
        Self { start, filler: "x".repeat(payload), accepted: 0 }
    }
}

impl Receiver {
    pub fn new(start: Instant, from: Instant, drains: bool, number: usize) -> Self {
        Self {
            start,
            from,
            drains,
            worker: format!("bench-{number}"),
            held: Vec::new(),
            is_empty: false,
            kind: Part::FETCH,
            handled: 0,
            times: histogram(),
        }
    }

    fn note_times(&mut self, body: &[u8], at: Instant) -> Result<(), BenchError> {
        for sent in memmem::find_iter(body, SENT) {
            let digits = &body[sent + SENT.len()..];
            let end = digits.iter().position(|b| !b.is_ascii_digit()).unwrap_or(0);
            let text = std::str::from_utf8(&digits[..end]).unwrap_or_default();
            let sent: u64 = text.parse().map_err(|_| BenchError::wrong("a job without a time"))?;
            let sent = self.start + Duration::from_nanos(sent);
            if sent >= self.from {
                let took = at.saturating_duration_since(sent);
                self.times.saturating_record(took.as_nanos().try_into().unwrap_or(u64::MAX));
            }
        }
        Ok(())
    }
}

impl Script for Part {
    fn request(&mut self, out: &mut Request<'_>, since: Instant) {
        match self {
            Part::Producer(producer) => {
                let sent = since.duration_since(producer.start).as_nanos();
                let body = format!(
                    r#"{{"type":"bench.job","queue":"{QUEUE}","args":[{sent},"{}"]}}"#,
                    producer.filler
                );
                out.post("/ojs/v1/jobs", body.as_bytes());
            }
            Part::Receiver(receiver) if receiver.held.is_empty() => {
                fetch(out, MOST, &receiver.worker, WAIT_MS);
            }
            Part::Receiver(receiver) => ack(out, &receiver.held, &receiver.worker),
        }
    }

    fn answer(&mut self, status: u16, body: &[u8], at: Instant) -> Result<u64, BenchError> {
        match self {
            Part::Producer(producer) => {
                expect(status, 201, body)?;
                contains(&body[body.len().saturating_sub(256)..], r#""state":"available""#)?;
                producer.accepted += 1;
                Ok(1)
            }
            Part::Receiver(receiver) if receiver.held.is_empty() => {
                receiver.kind = Part::FETCH;
                receiver.held = ids(status, body, MOST)?;
                receiver.is_empty = receiver.held.is_empty();
                receiver.note_times(body, at)?;
                Ok(0)
            }
            Part::Receiver(receiver) => {
                receiver.kind = Part::ACK;
                acked(status, body, receiver.held.len())?;
                receiver.handled += receiver.held.len() as u64;
                receiver.held.clear();
                Ok(0)
            }
        }
    }

    fn kind(&self) -> usize {
        match self {
            Part::Producer(_) => Part::ENQUEUE,
            Part::Receiver(receiver) => receiver.kind,
        }
    }

    fn goes_on(&self, over: bool) -> bool {
        match self {
            Part::Receiver(it) if over => !it.held.is_empty() || (it.drains && !it.is_empty),
            _ => !over,
        }
    }
}
