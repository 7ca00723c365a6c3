//! The thread of the log: appends batches in order, which commits them, and releases their answers.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use rota_engine::{Engine, Event};
use rota_log::{AppendError, Entry, Log};
use rota_storage::KeepRule;
use rota_store::{Batch, Loaded, StoreError, encoding};
use tokio::runtime::Handle as Tokio;
use tokio::sync::mpsc;

use super::Health;
use super::ask::Unavailable;
use super::events::EventEncoder;
use super::mailbox::Mailbox;
use super::queue::{Popped, Queue};
use super::release::Release;
use super::view_position::ViewPosition;
use super::view_queue::{ViewQueue, ViewWork};
use crate::identity::KeyTable;
use crate::request_limits::TenantRequestLimits;

/// Work for the thread of the log.
pub(super) enum Work {
    Commit(Batch, Release),
    /// Answers without mutations and events, released after all batches before them are committed.
    ReleaseOnly(Release),
    /// Build an engine from the stored data.
    Reload(Sender<Result<(Engine, Loaded), StoreError>>),
    /// Check whether the disk has space again.
    CheckSpace,
    Close,
}

/// What the threads of the log and the view report to the engine thread.
#[derive(Debug)]
pub(super) enum StoreReport {
    /// A batch was committed.
    Committed,
    /// The view has applied the batches up to this one, which removed so many bytes of tenants' jobs.
    Applied(u64, rota_store::Applied),
    /// The disk is full: neither this batch nor any after it was written.
    DiskFull,
    /// The disk has space again.
    SpaceAvailable,
    /// Work without a commit is finished.
    Finished,
}

/// The log is settled, and its old segments are given up, after this long without work.
const IDLE: Duration = Duration::from_millis(500);

/// How long a commit waits for the view to make room on a full disk.
const ROOM_TIMEOUT: Duration = Duration::from_secs(2);

/// The state of the thread.
pub(super) struct CommitLoop<L> {
    pub log: L,
    pub tokio: Tokio,
    pub work: Arc<Queue<Work>>,
    pub mailbox: Arc<Mailbox>,
    pub committed: mpsc::UnboundedSender<Release>,
    pub health: Health,
    pub keys: Arc<KeyTable>,
    pub request_limits: Arc<TenantRequestLimits>,
    pub view: Arc<ViewQueue>,
    pub position: Arc<ViewPosition>,
    pub on_fatal: Box<dyn Fn(&str) + Send>,
    pub event_encoder: EventEncoder,
    /// What the archive and the newest backup need of the log.
    pub keep: KeepRule,
    /// The term of new records.
    pub term: u64,
    /// The size of the last batch.
    pub last_bytes: usize,
}

impl<L: Log> CommitLoop<L> {
    pub fn run(mut self) {
        // After a failed commit nothing is written until the engine has been rebuilt.
        let mut failed = false;
        loop {
            let work = match self.work.pop(IDLE) {
                Popped::Item(work) => work,
                Popped::TimedOut => {
                    self.tidy();
                    continue;
                }
                Popped::Closed => break,
            };
            match work {
                Work::Commit(_, release) | Work::ReleaseOnly(release) if failed => {
                    release.fail(&Unavailable::NotWritten);
                    self.mailbox.put_report(StoreReport::Finished);
                }
                Work::Commit(batch, release) => failed = !self.commit(batch, release),
                Work::ReleaseOnly(release) => {
                    self.release(release);
                    self.mailbox.put_report(StoreReport::Finished);
                }
                Work::Reload(reply) => {
                    failed = false;
                    self.view.push(ViewWork::Load(reply));
                }
                Work::CheckSpace => self.view.push(ViewWork::CheckSpace),
                Work::Close => break,
            }
        }
        self.work.close();
        self.view.push(ViewWork::Close);
        if let Err(error) = self.tokio.block_on(self.log.close()) {
            tracing::error!(%error, "the log was not closed in order; the next start recovers it");
        }
    }

    /// Commits a batch and releases its answers. Returns false if it was not written.
    fn commit(&mut self, batch: Batch, mut release: Release) -> bool {
        let entry = self.encode(&batch, &release.events);
        match self.append(&entry) {
            Ok(()) => {
                self.position.set_committed(batch.number);
                self.keep.set_committed(batch.number);
                self.keys.apply(std::mem::take(&mut release.keys));
                self.request_limits.apply(std::mem::take(&mut release.request_limits));
                let late = release.take_late_answers();
                self.release(release);
                self.mailbox.put_report(StoreReport::Committed);
                self.view.push(ViewWork::Apply(batch, entry.payload.len(), late));
                self.truncate();
                self.make_room_for_view();
                true
            }
            Err(AppendError::Full(_)) => {
                release.fail(&Unavailable::NotWritten);
                self.mailbox.put_report(StoreReport::DiskFull);
                false
            }
            Err(AppendError::Deposed(cause)) => {
                // What this server decides no longer counts, so nothing more may be answered.
                let number = batch.number;
                (self.on_fatal)(&format!(
                    "batch {number} was not written: another server has taken over the log ({cause})"
                ));
                false
            }
            Err(error) => {
                // It is unknown whether the batch was written, so nothing more may be answered.
                (self.on_fatal)(&format!("batch {}: {error}", batch.number));
                false
            }
        }
    }

    /// On a full disk, what is kept only for the newest backup is given up first.
    fn append(&mut self, entry: &Entry) -> Result<(), AppendError> {
        let mut appended = self.tokio.block_on(self.log.append(entry));
        if matches!(appended, Err(AppendError::Full(_))) && self.keep.set_short_of_space(true) {
            tracing::warn!("the disk is full: the log is no longer kept for the newest backup");
            self.truncate();
            appended = self.tokio.block_on(self.log.append(entry));
        }
        if let Err(AppendError::Full(cause)) = &appended {
            self.make_room(cause);
            appended = self.tokio.block_on(self.log.append(entry));
        }
        appended
    }

    /// The disk is full: has everything applied and checkpointed in the space that is reserved, and reuses the
    /// segments with it.
    fn make_room(&mut self, cause: &str) {
        if !self.health.is_disk_full() {
            tracing::error!(%cause, "the disk is full: no new jobs are accepted until there is room");
            self.health.set_disk_full(true);
        }
        let (reply, done) = std::sync::mpsc::channel();
        self.view.push(ViewWork::MakeRoom(reply));
        // A view that finds no room either goes on trying. It gets what is only prepared for the log.
        if done.recv_timeout(ROOM_TIMEOUT).is_err() {
            self.make_room_for_view();
        }
        self.truncate();
    }

    fn encode(&mut self, batch: &Batch, events: &[Event]) -> Entry {
        // Batches that follow each other are about as long.
        let mut payload = Vec::with_capacity(self.last_bytes + self.last_bytes / 4);
        encoding::encode(batch, self.event_encoder.encode(events), &mut payload);
        self.last_bytes = payload.len();
        Entry { index: batch.number, term: self.term, time: batch.now.0, payload: payload.into() }
    }

    fn release(&self, release: Release) {
        if !release.is_empty() {
            let _ = self.committed.send(release);
        }
    }

    /// Proves that the last record was acknowledged, so that damage to it cannot be taken for a torn write.
    fn tidy(&mut self) {
        self.keep.set_short_of_space(self.health.is_disk_full());
        match self.tokio.block_on(self.log.settle()) {
            Ok(()) | Err(AppendError::Full(_)) => {}
            Err(error) => (self.on_fatal)(&error.to_string()),
        }
        self.truncate();
        self.make_room_for_view();
    }

    /// Gives up what neither the view nor the archive nor the newest backup needs.
    fn truncate(&mut self) {
        let below = (self.position.durable() + 1).min(self.keep.keep_from());
        if below <= self.log.first() {
            return;
        }
        if let Err(error) = self.tokio.block_on(self.log.truncate(below)) {
            tracing::warn!(%error, "old segments of the log could not be removed");
        }
    }

    /// Leaves the view the space that is only prepared for later records.
    fn make_room_for_view(&mut self) {
        if self.position.is_short_of_space()
            && let Err(error) = self.tokio.block_on(self.log.release_space())
        {
            tracing::warn!(%error, "spare segments of the log could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use rota_log::{LogError, Tip};
    use tokio::sync::oneshot;

    use super::super::ask::Answer;
    use super::*;

    /// A log that another writer has taken over.
    struct DeposedLog;

    impl Log for DeposedLog {
        fn tip(&self) -> Tip {
            Tip { index: 7, term: 1, checksum: 0 }
        }

        fn first(&self) -> u64 {
            8
        }

        async fn append(&mut self, entry: &Entry) -> Result<(), AppendError> {
            Err(AppendError::Deposed(format!("record {} has term 2", entry.index)))
        }

        async fn settle(&mut self) -> Result<(), AppendError> {
            Ok(())
        }

        async fn read(&mut self, _: u64, _: usize) -> Result<Vec<Entry>, LogError> {
            Ok(Vec::new())
        }

        async fn truncate(&mut self, _: u64) -> Result<(), LogError> {
            Ok(())
        }

        async fn close(self) -> Result<(), LogError> {
            Ok(())
        }
    }

    #[test]
    fn a_deposed_writer_answers_nothing_and_says_why_it_stops() {
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (committed, mut releases) = mpsc::unbounded_channel();
        let causes = Arc::new(Mutex::new(Vec::new()));
        let work = Arc::new(Queue::new(2));
        let commit_loop = CommitLoop {
            log: DeposedLog,
            tokio: tokio.handle().clone(),
            work: work.clone(),
            mailbox: Arc::new(Mailbox::new(9, 1 << 20)),
            committed,
            health: Health::default(),
            keys: Arc::default(),
            request_limits: Arc::default(),
            view: Arc::new(ViewQueue::new(1 << 20)),
            position: Arc::new(ViewPosition::new(7)),
            on_fatal: Box::new({
                let causes = causes.clone();
                move |cause| causes.lock().unwrap().push(cause.to_owned())
            }),
            event_encoder: EventEncoder::default(),
            keep: KeepRule::default(),
            term: 1,
            last_bytes: 0,
        };
        let (sender, answer) = oneshot::channel();
        let release =
            Release { answers: vec![(sender, Answer::Explained(None))], ..Release::default() };
        let batch = Batch { number: 8, ..Batch::default() };
        assert!(work.try_push(Work::Commit(batch, release)).is_ok());
        assert!(work.try_push(Work::Close).is_ok());
        commit_loop.run();
        assert!(answer.blocking_recv().is_err(), "whether it happened is not this server's to say");
        assert!(releases.blocking_recv().is_none());
        let cause = "batch 8 was not written: another server has taken over the log \
                     (record 8 has term 2)";
        assert_eq!(*causes.lock().unwrap(), [cause]);
    }
}
