//! The script for the echo server.

use std::time::Instant;

use super::expect;
use crate::BenchError;
use crate::http::{Request, Script};

/// Sends a body and expects the same one in the response.
pub(crate) struct Echo {
    pub body: String,
}

impl Script for Echo {
    fn request(&mut self, out: &mut Request<'_>, _: Instant) {
        out.post("/echo", self.body.as_bytes());
    }

    fn answer(&mut self, status: u16, body: &[u8], _: Instant) -> Result<u64, BenchError> {
        expect(status, 200, body)?;
        if body == self.body.as_bytes() {
            return Ok(1);
        }
        Err(BenchError::wrong("an echo of something else"))
    }
}
