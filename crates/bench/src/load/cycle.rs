//! The script that enqueues, fetches and acknowledges batches.

use std::time::Instant;

use super::fetch_and_ack::{Id, ack, acked, fetch, ids};
use super::{Enqueue, Tally};
use crate::BenchError;
use crate::http::{Request, Script};

/// Enqueues a batch, fetches a batch, acknowledges it, and repeats.
pub(crate) struct Cycle {
    enqueue: Enqueue,
    worker: String,
    count: usize,
    step: usize,
    held: Vec<Id>,
    kind: usize,
    handled: u64,
}

impl Cycle {
    pub fn new(number: usize, payload: usize, count: usize) -> Self {
        Self::with(Enqueue::in_batches(payload, count, u64::MAX), number, count)
    }

    /// One job at a time.
    pub fn one_by_one(number: usize, payload: usize) -> Self {
        Self::with(Enqueue::one_by_one(payload), number, 1)
    }

    fn with(enqueue: Enqueue, number: usize, count: usize) -> Self {
        Self {
            enqueue,
            worker: format!("bench-{number}"),
            count,
            step: 0,
            held: Vec::new(),
            kind: 0,
            handled: 0,
        }
    }
}

impl Script for Cycle {
    fn request(&mut self, out: &mut Request<'_>, at: Instant) {
        match self.step {
            0 => self.enqueue.request(out, at),
            1 => fetch(out, self.count, &self.worker, 0),
            _ => ack(out, &self.held, &self.worker),
        }
    }

    /// Only complete cycles count.
    fn answer(&mut self, status: u16, body: &[u8], at: Instant) -> Result<u64, BenchError> {
        self.kind = self.step;
        match self.step {
            0 => {
                self.enqueue.answer(status, body, at)?;
                self.step = 1;
                Ok(0)
            }
            1 => {
                self.held = ids(status, body, self.count)?;
                // Other connections may have fetched the jobs first.
                self.step = if self.held.is_empty() { 0 } else { 2 };
                Ok(0)
            }
            _ => {
                acked(status, body, self.held.len())?;
                let count = self.held.len() as u64;
                self.handled += count;
                self.step = 0;
                Ok(count)
            }
        }
    }

    fn kind(&self) -> usize {
        self.kind
    }

    fn goes_on(&self, over: bool) -> bool {
        !over || self.step == 2
    }
}

impl Tally for Cycle {
    fn enqueued(&self) -> u64 {
        self.enqueue.enqueued()
    }

    fn handled(&self) -> u64 {
        self.handled
    }
}
