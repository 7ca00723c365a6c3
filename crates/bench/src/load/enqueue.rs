//! The script that enqueues equal jobs.

use std::time::Instant;

use super::{Tally, batch_of, contains, expect, job};
use crate::BenchError;
use crate::http::{Request, Script};

/// Enqueues jobs, one per request or in batches.
pub(crate) struct Enqueue {
    path: &'static str,
    body: String,
    count: u64,
    /// Number of requests left.
    left: u64,
    proof: String,
    accepted: u64,
}

impl Enqueue {
    pub fn one_by_one(payload: usize) -> Self {
        Self {
            path: "/ojs/v1/jobs",
            body: job(payload),
            count: 1,
            left: u64::MAX,
            proof: r#""state":"available""#.into(),
            accepted: 0,
        }
    }

    /// One by one, this many.
    pub fn single(payload: usize, requests: u64) -> Self {
        Self { left: requests, ..Self::one_by_one(payload) }
    }

    /// One by one, for a tenant.
    pub fn of_tenant(payload: usize, tenant: &str, requests: u64) -> Self {
        let meta = format!(r#","meta":{{"tenant_id":"{tenant}"}}}}"#);
        let mut body = job(payload);
        body.pop();
        Self { body: body + &meta, left: requests, ..Self::one_by_one(payload) }
    }

    pub fn in_batches(payload: usize, count: usize, requests: u64) -> Self {
        Self {
            path: "/ojs/v1/jobs/batch",
            body: batch_of(payload, count),
            count: count as u64,
            left: requests,
            proof: format!(r#""count":{count}}}"#),
            accepted: 0,
        }
    }
}

impl Script for Enqueue {
    fn request(&mut self, out: &mut Request<'_>, _: Instant) {
        out.post(self.path, self.body.as_bytes());
    }

    fn answer(&mut self, status: u16, body: &[u8], _: Instant) -> Result<u64, BenchError> {
        expect(status, 201, body)?;
        // The server's members are at the end; those before repeat the request.
        contains(&body[body.len().saturating_sub(256)..], &self.proof)?;
        self.left -= 1;
        self.accepted += self.count;
        Ok(self.count)
    }

    fn goes_on(&self, over: bool) -> bool {
        !over && self.left > 0
    }
}

impl Tally for Enqueue {
    fn enqueued(&self) -> u64 {
        self.accepted
    }
}
