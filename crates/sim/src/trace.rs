//! The trace of a run, and a hash by which two runs are compared.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};

use crate::request::Request;

const KEPT: usize = 40;

#[derive(Debug)]
pub struct Trace {
    hash: u64,
    lines: u64,
    tail: VecDeque<String>,
    verbose: bool,
    /// The request being processed, which is shown if it panics.
    doing: Option<Request>,
}

impl Trace {
    /// A verbose trace prints every line as it comes.
    #[must_use]
    pub fn new(verbose: bool) -> Self {
        Self {
            hash: 0xcbf2_9ce4_8422_2325,
            lines: 0,
            tail: VecDeque::with_capacity(KEPT),
            verbose,
            doing: None,
        }
    }

    pub fn line(&mut self, text: fmt::Arguments<'_>) {
        let mut line = if self.tail.len() == KEPT {
            self.tail.pop_front().unwrap_or_default()
        } else {
            String::new()
        };
        line.clear();
        // Writing into a String cannot fail.
        let _ = line.write_fmt(text);
        for byte in line.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.lines += 1;
        if self.verbose {
            println!("{line}");
        }
        self.tail.push_back(line);
    }

    /// Remembers a request until it is [`Trace::done`].
    pub fn doing(&mut self, request: &Request) {
        self.doing = Some(request.clone());
    }

    pub fn done(&mut self) {
        self.doing = None;
    }

    /// The request that was not done.
    #[must_use]
    pub fn undone(&self) -> Option<&Request> {
        self.doing.as_ref()
    }

    /// Follows from every line so far.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash
    }

    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The last lines, oldest first.
    pub fn tail(&self) -> impl Iterator<Item = &str> {
        self.tail.iter().map(String::as_str)
    }
}
