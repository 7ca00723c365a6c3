//! What a connection says, and what it expects to hear.

use std::time::Instant;

use crate::BenchError;

/// One connection's part. Every answer is looked at: a wrong one ends the measurement.
pub(crate) trait Script {
    /// Writes the next request. `sent_at` is when its time begins to count.
    fn request(&mut self, out: &mut Request<'_>, sent_at: Instant);

    /// Takes the answer; the number of operations that it stands for.
    fn answer(&mut self, status: u16, body: &[u8], at: Instant) -> Result<u64, BenchError>;

    /// The name under which the time of the request that was just answered is kept.
    fn kind(&self) -> usize {
        0
    }

    /// Whether there is a next request; asked before each. When the time is over, only what was
    /// begun is brought to its end.
    fn goes_on(&self, over: bool) -> bool {
        !over
    }
}

/// Bytes to be sent.
pub(crate) struct Request<'a>(pub(super) &'a mut Vec<u8>);

impl Request<'_> {
    pub fn post(&mut self, path: &str, body: &[u8]) {
        let out = &mut *self.0;
        out.extend_from_slice(b"POST ");
        out.extend_from_slice(path.as_bytes());
        out.extend_from_slice(
            b" HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: ",
        );
        out.extend_from_slice(body.len().to_string().as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(body);
    }
}
