//! The script of a connection: the requests it sends and the responses it expects.

use std::time::Instant;

use crate::BenchError;

/// The script of one connection. A wrong response ends the measurement.
pub(crate) trait Script {
    /// Writes the next request, whose time counts from `sent_at`.
    fn request(&mut self, out: &mut Request<'_>, sent_at: Instant);

    /// Checks a response. Returns the number of operations that it completes.
    fn answer(&mut self, status: u16, body: &[u8], at: Instant) -> Result<u64, BenchError>;

    /// The kind of the last request, by which times are recorded.
    fn kind(&self) -> usize {
        0
    }

    /// Whether there is another request. When `over`, the measured time has ended, and only operations in
    /// progress are completed.
    fn goes_on(&self, over: bool) -> bool {
        !over
    }
}

/// A buffer for requests to send.
pub(crate) struct Request<'a> {
    out: &'a mut Vec<u8>,
    /// Lines at the end of each head.
    headers: &'a str,
}

impl<'a> Request<'a> {
    /// Writes into `out`, with these lines at the end of each head.
    pub fn new(out: &'a mut Vec<u8>, headers: &'a str) -> Self {
        Self { out, headers }
    }

    pub fn post(&mut self, path: &str, body: &[u8]) {
        self.post_head(path, body.len());
        self.out.extend_from_slice(body);
    }

    /// The head of a request whose body of `length` bytes follows.
    pub fn post_head(&mut self, path: &str, length: usize) {
        let out = &mut *self.out;
        out.extend_from_slice(b"POST ");
        out.extend_from_slice(path.as_bytes());
        out.extend_from_slice(
            b" HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: ",
        );
        out.extend_from_slice(length.to_string().as_bytes());
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(self.headers.as_bytes());
        out.extend_from_slice(b"\r\n");
    }

    pub fn get(&mut self, path: &str) {
        let head = format!("GET {path} HTTP/1.1\r\nhost: bench\r\n{}\r\n", self.headers);
        self.out.extend_from_slice(head.as_bytes());
    }
}
