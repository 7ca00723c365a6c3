//! The script of a worker that fetches and acknowledges jobs.

use std::time::Instant;

use super::Tally;
use super::fetch_and_ack::{Id, ack, acked, fetch, ids};
use crate::BenchError;
use crate::http::{Request, Script};

/// A worker that fetches and acknowledges jobs until there are none or it has reached its maximum.
pub(crate) struct Worker {
    worker: String,
    count: usize,
    held: Vec<Id>,
    kind: usize,
    /// Number of jobs that it may still fetch.
    left: u64,
    handled: u64,
    is_empty: bool,
}

impl Worker {
    pub const FETCH: usize = 0;
    pub const ACK: usize = 1;

    pub fn new(number: usize, count: usize, most: u64) -> Self {
        Self {
            worker: format!("bench-{number}"),
            count,
            held: Vec::new(),
            kind: Self::FETCH,
            left: most,
            handled: 0,
            is_empty: false,
        }
    }
}

impl Script for Worker {
    fn request(&mut self, out: &mut Request<'_>, _: Instant) {
        if self.held.is_empty() {
            fetch(out, self.count, &self.worker, 0);
        } else {
            ack(out, &self.held, &self.worker);
        }
    }

    fn answer(&mut self, status: u16, body: &[u8], _: Instant) -> Result<u64, BenchError> {
        if self.held.is_empty() {
            self.kind = Self::FETCH;
            self.held = ids(status, body, self.count)?;
            self.is_empty = self.held.is_empty();
            self.left = self.left.saturating_sub(self.held.len() as u64);
            return Ok(0);
        }
        self.kind = Self::ACK;
        acked(status, body, self.held.len())?;
        let count = self.held.len() as u64;
        self.handled += count;
        self.held.clear();
        Ok(count)
    }

    fn kind(&self) -> usize {
        self.kind
    }

    fn goes_on(&self, over: bool) -> bool {
        !self.held.is_empty() || (!over && !self.is_empty && self.left > 0)
    }
}

impl Tally for Worker {
    fn handled(&self) -> u64 {
        self.handled
    }
}
