//! One connection: a request out, an answer in, and again.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use super::answer;
use super::script::{Request, Script};
use crate::BenchError;

pub(super) struct Connection<S> {
    stream: TcpStream,
    pub script: S,
    output: Vec<u8>,
    written: usize,
    input: Vec<u8>,
    filled: usize,
    /// Since when the request under way counts.
    since: Option<Instant>,
}

/// What an answer amounted to.
pub(super) struct Finished {
    pub kind: usize,
    pub operations: u64,
    pub since: Instant,
    pub at: Instant,
}

impl<S: Script> Connection<S> {
    /// Connects, and waits for it: connecting is not what is measured.
    pub fn open(
        address: SocketAddr,
        script: S,
        registry: &Registry,
        token: Token,
    ) -> Result<Self, BenchError> {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Self {
            stream,
            script,
            output: Vec::with_capacity(4096),
            written: 0,
            input: vec![0; 16 << 10],
            filled: 0,
            since: None,
        })
    }

    pub fn is_idle(&self) -> bool {
        self.since.is_none()
    }

    /// Sends the next request, whose time counts from `since`.
    pub fn send(&mut self, since: Instant) -> Result<(), BenchError> {
        self.output.clear();
        self.written = 0;
        self.script.request(&mut Request(&mut self.output), since);
        self.since = Some(since);
        self.flush()
    }

    pub fn flush(&mut self) -> Result<(), BenchError> {
        while self.written < self.output.len() {
            match self.stream.write(&self.output[self.written..]) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(n) => self.written += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads what has come; something when the answer is complete.
    pub fn receive(&mut self) -> Result<Option<Finished>, BenchError> {
        loop {
            if self.filled == self.input.len() {
                self.input.resize(self.input.len() * 2, 0);
            }
            match self.stream.read(&mut self.input[self.filled..]) {
                Ok(0) => return Err(BenchError::wrong("the server closed a connection")),
                Ok(n) => self.filled += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            }
            if let Some(finished) = self.finish()? {
                return Ok(Some(finished));
            }
        }
    }

    fn finish(&mut self) -> Result<Option<Finished>, BenchError> {
        let Some(answer) = answer::parse(&self.input[..self.filled])? else { return Ok(None) };
        if answer.body.end != self.filled {
            return Err(BenchError::wrong("more was answered than was asked"));
        }
        let since =
            self.since.take().ok_or_else(|| BenchError::wrong("an answer to no question"))?;
        let at = Instant::now();
        let operations = self.script.answer(answer.status, &self.input[answer.body], at)?;
        self.filled = 0;
        Ok(Some(Finished { kind: self.script.kind(), operations, since, at }))
    }
}
