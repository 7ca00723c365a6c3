//! Moves the log into the file on a thread of its own, so that commits do not wait for it.
//!
//! The log starts over only when all of it has been moved at a moment when nothing is being
//! written. While the mover moves, the log grows; so the mover goes again over what is new until
//! little is left, and the writer moves that little itself, between two commits.

use std::fmt::Display;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;

use crate::checkpoint::{self, Log};

/// So few pages are moved between two commits and hardly noticed.
const FEW: u64 = 128;

pub(crate) struct Mover {
    wake: Option<SyncSender<()>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Where the log is long enough to be moved.
    long: u64,
    /// The log as it was when the mover was last woken.
    woken_at: Log,
}

#[derive(Default)]
struct Shared {
    moving: AtomicBool,
    failure: Mutex<Option<String>>,
}

impl Shared {
    fn fail(&self, cause: &dyn Display) {
        let cause = format!("the log cannot be moved into the file: {cause}");
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(cause);
    }
}

/// What a writer does about the log after a commit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Nothing,
    Wake,
    MoveTheRest,
}

impl Mover {
    /// Starts moving a log of `bound` pages early enough for it to be done by then.
    /// `file` is the database's, to be flushed.
    pub fn start(conn: Connection, file: Arc<File>, bound: u64) -> std::io::Result<Self> {
        let (wake, woken) = sync_channel(1);
        let shared = Arc::new(Shared::default());
        let theirs = shared.clone();
        let run = move || run(&conn, &file, &woken, &theirs);
        let thread = thread::Builder::new().name("rota-checkpoint".into()).spawn(run)?;
        let long = bound / 2;
        Ok(Self { wake: Some(wake), shared, thread: Some(thread), long, woken_at: Log::default() })
    }

    pub fn step(&self, log: Log) -> Step {
        decide(log, self.woken_at, self.long, self.is_moving())
    }

    pub fn wake(&mut self, log: Log) {
        self.woken_at = log;
        self.shared.moving.store(true, Ordering::Release);
        let sent = self.wake.as_ref().is_some_and(|wake| wake.try_send(()).is_ok());
        if !sent {
            self.shared.moving.store(false, Ordering::Release);
        }
    }

    /// Why the log cannot be moved any more, if so.
    pub fn failure(&self) -> Option<String> {
        self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn fail(&self, cause: &dyn Display) {
        self.shared.fail(cause);
    }

    fn is_moving(&self) -> bool {
        self.shared.moving.load(Ordering::Acquire)
    }
}

/// Waits for the mover to end, so that its connection is closed.
impl Drop for Mover {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic; and if it did, nobody could do more about it here.
            let _ = thread.join();
        }
    }
}

fn run(conn: &Connection, file: &File, woken: &Receiver<()>, shared: &Shared) {
    for () in woken {
        // SQLite flushes the file only when nothing is left to move, which is up to the writer.
        // Flushed here, there is little left for the writer to wait for.
        if let Err(fault) = checkpoint::now(conn) {
            shared.fail(&fault);
        } else if let Err(error) = file.sync_data() {
            shared.fail(&error);
        }
        shared.moving.store(false, Ordering::Release);
    }
}

fn decide(log: Log, woken_at: Log, long: u64, moving: bool) -> Step {
    if moving || log.pages < long {
        return Step::Nothing;
    }
    if log.pages - log.moved <= FEW {
        return Step::MoveTheRest;
    }
    let started_over = log.pages < woken_at.pages;
    let moved = log.moved > woken_at.moved;
    // A reader that looks at an old state keeps the rest from being moved; there is no use in
    // trying at every commit.
    let grown = log.pages >= woken_at.pages + long;
    if started_over || moved || grown { Step::Wake } else { Step::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(pages: u64, moved: u64) -> Log {
        Log { pages, moved }
    }

    #[test]
    fn a_short_log_is_left_alone() {
        assert_eq!(decide(log(999, 0), log(0, 0), 1000, false), Step::Nothing);
    }

    #[test]
    fn a_long_log_is_moved_again_until_little_is_left() {
        assert_eq!(decide(log(1000, 0), log(0, 0), 1000, false), Step::Wake);
        assert_eq!(decide(log(1200, 0), log(1000, 0), 1000, true), Step::Nothing);
        assert_eq!(decide(log(1400, 1000), log(1000, 0), 1000, false), Step::Wake);
        assert_eq!(decide(log(1500, 1400), log(1400, 1000), 1000, false), Step::MoveTheRest);
    }

    #[test]
    fn a_reader_in_the_way_is_not_asked_at_every_commit() {
        assert_eq!(decide(log(1400, 500), log(1300, 500), 1000, false), Step::Nothing);
        assert_eq!(decide(log(2300, 500), log(1300, 500), 1000, false), Step::Wake);
    }

    #[test]
    fn a_log_that_started_over_counts_anew() {
        assert_eq!(decide(log(1100, 0), log(5000, 4900), 1000, false), Step::Wake);
    }
}
