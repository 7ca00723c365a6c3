//! One connection of the hostile tenant.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use super::role::{Reads, Role};
use crate::http::{Request, parse_head};

/// Bytes of an answer that are read at once.
const BUFFER: usize = 64 << 10;
/// The longest head of an answer.
const MAX_HEAD: usize = 16 << 10;

pub(super) struct Member {
    address: SocketAddr,
    headers: Arc<str>,
    role: Role,
    stream: Option<TcpStream>,
    output: Vec<u8>,
    written: usize,
    /// The beginning of the answer that is being read, up to the end of its head.
    head: Vec<u8>,
    /// Bytes of the answer's body that are still to come.
    body_left: Option<usize>,
}

/// What has happened on a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outcome {
    pub accepted: u64,
    pub refused: u64,
    pub closed: u64,
}

impl Member {
    pub fn new(address: SocketAddr, headers: Arc<str>, role: Role) -> Self {
        Self {
            address,
            headers,
            role,
            stream: None,
            output: Vec::new(),
            written: 0,
            head: Vec::new(),
            body_left: None,
        }
    }

    /// Opens the connection if it is closed; sends the next byte of a slow body.
    pub fn tick(&mut self, registry: &Registry, token: Token) -> Outcome {
        if self.stream.is_none() {
            return self.open(registry, token);
        }
        if self.written == self.output.len() && self.role.drip(&mut self.output) {
            return self.write();
        }
        Outcome::default()
    }

    /// Reads and writes what is possible now.
    pub fn ready(&mut self, event: &Event) -> Outcome {
        let mut outcome = Outcome::default();
        if event.is_writable() {
            outcome.add(self.write());
        }
        if event.is_readable() && self.stream.is_some() {
            outcome.add(self.read());
        }
        if event.is_read_closed() || event.is_error() {
            outcome.add(self.close());
        }
        outcome
    }

    fn open(&mut self, registry: &Registry, token: Token) -> Outcome {
        let Ok(mut stream) = TcpStream::connect(self.address) else { return Outcome::CLOSED };
        let _ = stream.set_nodelay(true);
        if registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE).is_err() {
            return Outcome::CLOSED;
        }
        self.stream = Some(stream);
        self.head.clear();
        self.body_left = None;
        // It is sent when the stream is writable, which is when it is connected.
        self.next_request();
        Outcome::default()
    }

    fn close(&mut self) -> Outcome {
        match self.stream.take() {
            Some(_) => Outcome::CLOSED,
            None => Outcome::default(),
        }
    }

    fn next_request(&mut self) {
        self.output.clear();
        self.written = 0;
        self.role.request(&mut Request::new(&mut self.output, &self.headers));
    }

    fn write(&mut self) -> Outcome {
        while let Some(stream) = &mut self.stream
            && self.written < self.output.len()
        {
            match stream.write(&self.output[self.written..]) {
                Ok(count) if count > 0 => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_not_ready(error.kind()) => break,
                _ => return self.close(),
            }
        }
        Outcome::default()
    }

    fn read(&mut self) -> Outcome {
        let mut outcome = Outcome::default();
        let reads = self.role.reads();
        if reads == Reads::Nothing {
            return outcome;
        }
        let mut buffer = [0; BUFFER];
        while let Some(stream) = &mut self.stream {
            match stream.read(&mut buffer) {
                Ok(count) if count > 0 => {
                    if reads == Reads::Answers {
                        outcome.add(self.take(&buffer[..count]));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_not_ready(error.kind()) => break,
                _ => outcome.add(self.close()),
            }
        }
        outcome
    }

    /// Takes bytes of an answer. When it is complete, the next request follows.
    fn take(&mut self, mut bytes: &[u8]) -> Outcome {
        let mut outcome = Outcome::default();
        if self.body_left.is_none() {
            let before = self.head.len();
            self.head.extend_from_slice(bytes);
            match parse_head(&self.head) {
                Ok(Some(head)) => {
                    bytes = &bytes[head.bytes.saturating_sub(before).min(bytes.len())..];
                    self.body_left = Some(head.body_bytes);
                    match head.status {
                        200..300 => outcome.accepted = 1,
                        _ => outcome.refused = 1,
                    }
                }
                Ok(None) if self.head.len() < MAX_HEAD => return outcome,
                _ => return self.close(),
            }
        }
        let left = self.body_left.unwrap_or(0).saturating_sub(bytes.len());
        self.body_left = Some(left);
        if left == 0 {
            self.body_left = None;
            self.head.clear();
            self.next_request();
            outcome.add(self.write());
        }
        outcome
    }
}

impl Outcome {
    const CLOSED: Self = Self { accepted: 0, refused: 0, closed: 1 };

    fn add(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.closed += other.closed;
    }
}

/// Not connected yet, or nothing more to read, or no room to write.
fn is_not_ready(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::NotConnected)
}
