//! One connection, which alternates between a request and its response.

use std::io::{self, Read, Write};
use std::net;
use std::sync::Arc;
use std::time::Instant;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use super::answer;
use super::script::{Request, Script};
use super::transport::Transport;
use crate::BenchError;

pub(super) struct Connection<S> {
    transport: Transport<TcpStream>,
    headers: Arc<str>,
    pub script: S,
    output: Vec<u8>,
    written: usize,
    input: Vec<u8>,
    filled: usize,
    /// When the time of the current request begins to count.
    since: Option<Instant>,
}

/// A completed request.
pub(super) struct Finished {
    pub kind: usize,
    pub operations: u64,
    pub since: Instant,
    pub at: Instant,
}

impl<S: Script> Connection<S> {
    /// Uses what is connected, because connecting is not measured. `headers` are lines for each request.
    pub fn open(
        transport: Transport<net::TcpStream>,
        headers: Arc<str>,
        script: S,
        registry: &Registry,
        token: Token,
    ) -> Result<Self, BenchError> {
        let mut transport = transport.non_blocking()?;
        registry.register(transport.stream(), token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Self {
            transport,
            headers,
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
        self.script.request(&mut Request::new(&mut self.output, &self.headers), since);
        self.since = Some(since);
        self.flush()
    }

    pub fn flush(&mut self) -> Result<(), BenchError> {
        while self.written < self.output.len() {
            match self.transport.write(&self.output[self.written..]) {
                Ok(0) => return Err(self.wrong("nothing can be sent")),
                Ok(n) => self.written += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.wrong(format!("the connection broke: {error}"))),
            }
        }
        match self.transport.flush() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                Err(self.wrong(format!("the connection broke: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Reads what has arrived. Returns the request if its response is complete.
    pub fn receive(&mut self) -> Result<Option<Finished>, BenchError> {
        loop {
            if self.filled == self.input.len() {
                self.input.resize(self.input.len() * 2, 0);
            }
            match self.transport.read(&mut self.input[self.filled..]) {
                Ok(0) => return Err(self.wrong("the server closed the connection")),
                Ok(n) => self.filled += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.wrong(format!("the connection broke: {error}"))),
            }
            if let Some(finished) = self.finish()? {
                return Ok(Some(finished));
            }
        }
    }

    fn finish(&mut self) -> Result<Option<Finished>, BenchError> {
        let answer = answer::parse(&self.input[..self.filled]);
        let Some(answer) = answer.map_err(|error| error.answering(&self.question()))? else {
            return Ok(None);
        };
        if answer.body.end != self.filled {
            return Err(self.wrong("more was answered than was asked"));
        }
        let Some(since) = self.since.take() else {
            return Err(self.wrong("it was answered twice"));
        };
        let at = Instant::now();
        let operations = self
            .script
            .answer(answer.status, &self.input[answer.body], at)
            .map_err(|error| error.answering(&self.question()))?;
        self.filled = 0;
        Ok(Some(Finished { kind: self.script.kind(), operations, since, at }))
    }

    fn wrong(&self, what: impl Into<String>) -> BenchError {
        BenchError::wrong(what).answering(&self.question())
    }

    /// Method and path of the last request.
    fn question(&self) -> String {
        let line = self.output.split(|byte| *byte == b'\r').next().unwrap_or_default();
        String::from_utf8_lossy(line).trim_end_matches(" HTTP/1.1").to_owned()
    }
}
