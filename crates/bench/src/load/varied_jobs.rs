//! The script that enqueues jobs of different tenants and limits.

use std::time::Instant;

use super::{QUEUE, Tally, contains, expect};
use crate::BenchError;
use crate::http::{Request, Script};

/// The tenant and the limit of a job, depending on its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variety {
    /// Number of tenants, to which jobs are assigned round-robin.
    pub tenants: u64,
    pub limit: Limit,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    None,
    /// This many keys, each of which lets enough jobs start.
    Open {
        keys: u64,
    },
    /// This many keys, none of which lets any job start.
    Closed {
        keys: u64,
    },
}

/// Enqueues different jobs in batches.
pub(crate) struct Varied {
    variety: Variety,
    payload: String,
    next: u64,
    end: u64,
    at_once: u64,
    accepted: u64,
}

impl Varied {
    /// The jobs with these numbers.
    pub fn new(
        variety: Variety,
        numbers: std::ops::Range<u64>,
        payload: usize,
        at_once: u64,
    ) -> Self {
        let payload = "x".repeat(payload);
        let (next, end) = (numbers.start, numbers.end);
        Self { variety, payload, next, end, at_once, accepted: 0 }
    }

    fn size(&self) -> u64 {
        self.at_once.min(self.end - self.next)
    }

    fn job(&self, number: u64) -> String {
        let (tenant, filler) = (number % self.variety.tenants, &self.payload);
        let limit = match self.variety.limit {
            Limit::None => String::new(),
            Limit::Open { keys } => {
                format!(r#","rate_limit":{{"key":"open-{}","concurrency":100000}}"#, number % keys)
            }
            Limit::Closed { keys } => {
                format!(r#","rate_limit":{{"key":"closed-{}","concurrency":0}}"#, number % keys)
            }
        };
        format!(
            r#"{{"type":"bench.job","queue":"{QUEUE}","args":["{filler}"],"meta":{{"tenant_id":"tenant-{tenant}"}}{limit}}}"#
        )
    }
}

impl Script for Varied {
    fn request(&mut self, out: &mut Request<'_>, _: Instant) {
        let jobs: Vec<String> = (self.next..self.next + self.size()).map(|n| self.job(n)).collect();
        out.post("/ojs/v1/jobs/batch", format!(r#"{{"jobs":[{}]}}"#, jobs.join(",")).as_bytes());
    }

    fn answer(&mut self, status: u16, body: &[u8], _: Instant) -> Result<u64, BenchError> {
        expect(status, 201, body)?;
        let size = self.size();
        contains(&body[body.len().saturating_sub(64)..], &format!(r#""count":{size}}}"#))?;
        self.next += size;
        self.accepted += size;
        Ok(size)
    }

    fn goes_on(&self, over: bool) -> bool {
        !over && self.next < self.end
    }
}

impl Tally for Varied {
    fn enqueued(&self) -> u64 {
        self.accepted
    }
}
