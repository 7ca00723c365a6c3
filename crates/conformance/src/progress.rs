//! A progress line on standard error.

use std::io::{Write, stderr};

#[derive(Debug)]
pub struct Progress {
    shown: bool,
    total: usize,
    done: usize,
    failed: usize,
}

impl Progress {
    pub fn new(shown: bool, total: usize) -> Progress {
        Progress { shown, total, done: 0, failed: 0 }
    }

    pub fn finished(&mut self, file: &str, failed: bool) {
        self.done += 1;
        self.failed += usize::from(failed);
        let (total, done, failed) = (self.total, self.done, self.failed);
        self.write(&format!("{done}/{total} done, {failed} failed: {file}"));
    }

    pub fn clear(&self) {
        self.write("");
    }

    /// Over the line before. A terminal that has gone away is no reason to fail.
    fn write(&self, line: &str) {
        if self.shown {
            let mut out = stderr().lock();
            let _ignored = write!(out, "\r\x1b[K{line}").and_then(|()| out.flush());
        }
    }
}
