//! A background thread that checkpoints the write-ahead log (WAL), so that commits do not wait for it.
//!
//! SQLite restarts the WAL only when all of it has been checkpointed and nothing is being written.
//! The WAL grows while a checkpoint runs, so the thread repeats it until few pages are left. The
//! writer checkpoints those itself, between two commits.

use std::fmt::Display;
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;

use crate::checkpoint::{self, Wal};
use crate::internal_error::InternalError;
use crate::load;

/// The writer checkpoints up to this many pages itself; that adds little to the commit's latency.
const WRITER_PAGES: u64 = 128;

pub(crate) struct Checkpointer {
    wake: Option<SyncSender<()>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// WAL length in pages from which on it is checkpointed.
    threshold: u64,
    /// State of the WAL when the thread was last woken.
    last_wake: Wal,
}

#[derive(Default)]
struct Shared {
    running: AtomicBool,
    /// The number of the newest batch that is in the synced file.
    durable: AtomicU64,
    failure: Mutex<Option<String>>,
}

impl Shared {
    fn fail(&self, cause: &dyn Display) {
        let cause = format!("the log cannot be moved into the file: {cause}");
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(cause);
    }
}

/// What the writer does about the WAL after a commit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Nothing,
    Wake,
    CheckpointRest,
}

impl Checkpointer {
    /// Starts the thread. Checkpoints begin at half of `page_limit`, to be done before the WAL
    /// reaches it. `file` is the database file, which the thread syncs.
    pub fn start(conn: Connection, file: Arc<File>, page_limit: u64) -> std::io::Result<Self> {
        let (wake, woken) = sync_channel(1);
        let shared = Arc::new(Shared::default());
        let shared_by_thread = shared.clone();
        let run = move || run(&conn, &file, &woken, &shared_by_thread);
        let thread = thread::Builder::new().name("rota-checkpoint".into()).spawn(run)?;
        let threshold = page_limit / 2;
        Ok(Self {
            wake: Some(wake),
            shared,
            thread: Some(thread),
            threshold,
            last_wake: Wal::default(),
        })
    }

    pub fn step(&self, wal: Wal) -> Step {
        decide(wal, self.last_wake, self.threshold, self.is_running())
    }

    pub fn wake(&mut self, wal: Wal) {
        self.last_wake = wal;
        self.shared.running.store(true, Ordering::Release);
        let sent = self.wake.as_ref().is_some_and(|wake| wake.try_send(()).is_ok());
        if !sent {
            self.shared.running.store(false, Ordering::Release);
        }
    }

    /// The error of the last failed checkpoint, if one failed.
    pub fn failure(&self) -> Option<String> {
        self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn fail(&self, cause: &dyn Display) {
        self.shared.fail(cause);
    }

    /// The number of the newest batch that is in the synced file.
    pub fn durable(&self) -> u64 {
        self.shared.durable.load(Ordering::Acquire)
    }

    /// Records that a complete checkpoint has moved this batch.
    pub fn set_durable(&self, number: u64) {
        self.shared.durable.fetch_max(number, Ordering::AcqRel);
    }

    fn is_running(&self) -> bool {
        self.shared.running.load(Ordering::Acquire)
    }
}

/// Joins the thread, so that its connection is closed.
impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread cannot be handled here.
            let _ = thread.join();
        }
    }
}

fn run(conn: &Connection, file: &File, woken: &Receiver<()>, shared: &Shared) {
    for () in woken {
        match checkpoint_and_sync(conn, file) {
            Ok(Some(number)) => drop(shared.durable.fetch_max(number, Ordering::AcqRel)),
            Ok(None) => {}
            Err(error) => shared.fail(&error),
        }
        shared.running.store(false, Ordering::Release);
    }
}

/// Returns the number of the last batch that is certainly in the synced file, if that is known.
fn checkpoint_and_sync(conn: &Connection, file: &File) -> Result<Option<u64>, String> {
    let failed = |error: InternalError| error.to_string();
    // Read first: whatever a complete checkpoint leaves out came later.
    let number = load::meta(conn).map_err(failed)?.number;
    let is_complete = checkpoint::passive(conn).map_err(failed)?;
    // SQLite syncs the file only after a complete checkpoint, which the writer makes. Syncing here
    // leaves little for the writer to wait for.
    file.sync_data().map_err(|error| error.to_string())?;
    Ok(is_complete.then_some(number))
}

fn decide(wal: Wal, last_wake: Wal, threshold: u64, running: bool) -> Step {
    if running || wal.pages < threshold {
        return Step::Nothing;
    }
    if wal.pages - wal.checkpointed <= WRITER_PAGES {
        return Step::CheckpointRest;
    }
    let restarted = wal.pages < last_wake.pages;
    let progressed = wal.checkpointed > last_wake.checkpointed;
    // Without progress, a reader of an old state blocks the checkpoint. Retry only after the WAL has
    // grown, not after every commit.
    let grown = wal.pages >= last_wake.pages + threshold;
    if restarted || progressed || grown { Step::Wake } else { Step::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wal(pages: u64, checkpointed: u64) -> Wal {
        Wal { pages, checkpointed }
    }

    #[test]
    fn a_short_wal_is_not_checkpointed() {
        assert_eq!(decide(wal(999, 0), wal(0, 0), 1000, false), Step::Nothing);
    }

    #[test]
    fn a_long_wal_is_checkpointed_until_few_pages_are_left() {
        assert_eq!(decide(wal(1000, 0), wal(0, 0), 1000, false), Step::Wake);
        assert_eq!(decide(wal(1200, 0), wal(1000, 0), 1000, true), Step::Nothing);
        assert_eq!(decide(wal(1400, 1000), wal(1000, 0), 1000, false), Step::Wake);
        assert_eq!(decide(wal(1500, 1400), wal(1400, 1000), 1000, false), Step::CheckpointRest);
    }

    #[test]
    fn a_blocked_checkpoint_is_not_retried_after_every_commit() {
        assert_eq!(decide(wal(1400, 500), wal(1300, 500), 1000, false), Step::Nothing);
        assert_eq!(decide(wal(2300, 500), wal(1300, 500), 1000, false), Step::Wake);
    }

    #[test]
    fn a_restarted_wal_is_checkpointed() {
        assert_eq!(decide(wal(1100, 0), wal(5000, 4900), 1000, false), Step::Wake);
    }
}
