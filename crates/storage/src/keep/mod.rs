//! Keeping the log: a thread that copies it to the archive, and decides how far back it must reach.
//!
//! A segment may go when its view no longer needs it, when it is in the archive, and when it is not needed to
//! continue the newest backup. The last of these gives way: to `log.keep_bytes`, and to a disk that fills up.

mod reach;
mod status;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rota_log::{ArchiveError, ArchiveWriter, archive_end};

use crate::log_directory;
use reach::Reach;
pub use status::ArchiveStatus;

/// What is kept, and where it is copied to.
#[derive(Debug, Clone)]
pub struct KeepOptions {
    pub dir: PathBuf,
    pub archive: Option<PathBuf>,
    /// How long a committed record may wait for its copy.
    pub interval: Duration,
    /// The most bytes of segments that are kept for the newest backup.
    pub keep_bytes: u64,
    /// The last committed record.
    pub committed: u64,
}

/// How far back the log must reach, for whoever gives up its segments. Clones share it. The default keeps nothing.
#[derive(Debug, Clone, Default)]
pub struct KeepRule(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    committed: AtomicU64,
    /// The lowest indexes that are needed; `u64::MAX` for none.
    archive_needs: AtomicU64,
    backup_needs: AtomicU64,
    is_short_of_space: AtomicBool,
    status: Mutex<Option<ArchiveStatus>>,
    stop: Mutex<bool>,
    stopped: Condvar,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            committed: AtomicU64::new(0),
            archive_needs: AtomicU64::new(u64::MAX),
            backup_needs: AtomicU64::new(u64::MAX),
            is_short_of_space: AtomicBool::new(false),
            status: Mutex::new(None),
            stop: Mutex::new(false),
            stopped: Condvar::new(),
        }
    }
}

impl KeepRule {
    /// Records below this index may be given up.
    #[must_use]
    pub fn keep_from(&self) -> u64 {
        let archive = self.0.archive_needs.load(Ordering::Acquire);
        match self.0.is_short_of_space.load(Ordering::Acquire) {
            true => archive,
            false => archive.min(self.0.backup_needs.load(Ordering::Acquire)),
        }
    }

    pub fn set_committed(&self, index: u64) {
        self.0.committed.store(index, Ordering::Release);
    }

    /// On a full disk, nothing is kept for the newest backup. Returns whether something was.
    pub fn set_short_of_space(&self, is_short: bool) -> bool {
        let was_short = self.0.is_short_of_space.swap(is_short, Ordering::AcqRel);
        is_short && !was_short && self.0.backup_needs.load(Ordering::Acquire) < u64::MAX
    }

    /// `None` without an archive.
    #[must_use]
    pub fn archive_status(&self) -> Option<ArchiveStatus> {
        let committed = self.0.committed.load(Ordering::Acquire);
        let status = self.status().clone();
        status.map(|status| ArchiveStatus { committed: committed.max(status.committed), ..status })
    }

    fn status(&self) -> MutexGuard<'_, Option<ArchiveStatus>> {
        self.0.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that keeps the log.
pub struct LogKeeper {
    rule: KeepRule,
    thread: JoinHandle<()>,
}

/// How often it is looked whether there is something to do.
const TICK: Duration = Duration::from_millis(200);
/// How often files are looked at again that change rarely.
const SURVEY: Duration = Duration::from_secs(1);

impl LogKeeper {
    /// Starts the thread. Until it has looked, everything is kept.
    pub fn start(options: KeepOptions) -> io::Result<Self> {
        let rule = KeepRule::default();
        rule.set_committed(options.committed);
        rule.0.backup_needs.store(0, Ordering::Release);
        if options.archive.is_some() {
            rule.0.archive_needs.store(0, Ordering::Release);
            *rule.status() = Some(ArchiveStatus::default());
        }
        let mut keeper = Keeper::new(rule.clone(), options);
        let thread =
            std::thread::Builder::new().name("rota-keep-log".into()).spawn(move || keeper.run())?;
        Ok(Self { rule, thread })
    }

    #[must_use]
    pub fn rule(&self) -> KeepRule {
        self.rule.clone()
    }

    /// Archives the rest, and ends the thread. Nothing may be committed any more.
    pub fn stop(self) {
        *self.rule.0.stop.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.rule.0.stopped.notify_all();
        if self.thread.join().is_err() {
            tracing::error!("the thread that keeps the log panicked");
        }
    }
}

/// The state of the thread.
struct Keeper {
    rule: KeepRule,
    interval: Duration,
    reach: Reach,
    archive: Option<Archiving>,
}

struct Archiving {
    writer: ArchiveWriter,
    /// When the open segment was last copied.
    open_copied: Option<Instant>,
}

impl Keeper {
    fn new(rule: KeepRule, options: KeepOptions) -> Self {
        let log = log_directory(&options.dir);
        let archive = options.archive.as_ref().map(|directory| {
            warn_of_gap(&log, directory);
            Archiving { writer: ArchiveWriter::new(&log, directory), open_copied: None }
        });
        let reach = Reach::new(options.dir, options.keep_bytes, options.archive.is_some());
        Self { rule, interval: options.interval, reach, archive }
    }

    fn run(&mut self) {
        let mut surveyed: Option<Instant> = None;
        let mut copied = 0;
        loop {
            let is_stopping = self.wait();
            let committed = self.rule.0.committed.load(Ordering::Acquire);
            let is_due = surveyed.is_none_or(|at| at.elapsed() >= SURVEY);
            if is_stopping || is_due {
                surveyed = Some(Instant::now());
                let needs = self.reach.needed();
                self.rule.0.backup_needs.store(needs, Ordering::Release);
                if copied < committed || is_stopping || copied == 0 {
                    copied = self.archive(committed, is_stopping);
                }
            }
            if is_stopping {
                return;
            }
        }
    }

    /// Returns whether the thread is to end.
    fn wait(&self) -> bool {
        let stop = self.rule.0.stop.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.rule.0.stopped.wait_timeout_while(stop, TICK, |stop| !*stop);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Returns the last index that is in the archive.
    fn archive(&mut self, committed: u64, is_stopping: bool) -> u64 {
        let Some(archiving) = &mut self.archive else { return committed };
        let is_due = archiving.open_copied.is_none_or(|at| at.elapsed() >= self.interval);
        let with_open = is_stopping || is_due;
        let advanced = archiving.writer.advance(committed, with_open);
        if with_open {
            archiving.open_copied = Some(Instant::now());
        }
        let needed = match &advanced {
            Ok(needed) => Some(*needed),
            Err(_) => archiving.writer.needed().ok().flatten(),
        };
        if let Some(needed) = needed {
            self.rule.0.archive_needs.store(needed, Ordering::Release);
        }
        let archived = needed.map_or(0, |needed| needed - 1);
        self.report(archived, committed, advanced.err());
        archived
    }

    fn report(&self, archived: u64, committed: u64, error: Option<ArchiveError>) {
        let mut status = self.rule.status();
        let before = status.take().unwrap_or_default();
        let after = before.clone().next(archived, committed, error.map(|error| error.to_string()));
        match (&before.failure, &after.failure) {
            (None, Some(cause)) => tracing::error!(
                %cause,
                "the log is not archived; its segments are kept until it is, as long as there is space"
            ),
            (Some(_), None) => tracing::info!("the log is archived again"),
            _ => {}
        }
        *status = Some(after);
    }
}

/// Records that were given up before they could be archived.
fn warn_of_gap(log: &std::path::Path, archive: &std::path::Path) {
    let first = reach::first_index(log);
    if let (Some(first), Ok(Some(next))) = (first, archive_end(archive))
        && next < first
    {
        tracing::warn!(
            from = next,
            to = first - 1,
            "records are neither in the archive nor in the log any more: make a backup, because older ones cannot be \
             continued beyond them"
        );
    }
}
