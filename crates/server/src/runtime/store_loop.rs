//! The store thread: commits batches in order and releases their answers.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use rota_engine::{Config, Engine, Restore};
use rota_model::mutation::{Counts, RowKind};
use rota_model::{Class, ClassId, Live, TenantId};
use rota_store::{Batch, CommitError, Committed, HistoryRow, Loaded, Sink, Store, StoreError};
use tokio::runtime::Handle as Tokio;
use tokio::sync::mpsc;

use super::ask::Unavailable;
use super::mailbox::Mailbox;
use super::queue::{Popped, Queue};
use super::release::Release;
use super::{Clock, Health};
use crate::identity::KeyTable;
use crate::request_limits::TenantRequestLimits;

/// Work for the store thread.
pub(super) enum Work {
    Commit(Batch, Release),
    /// Answers without mutations, released after all batches before them are committed.
    ReleaseOnly(Release),
    /// Build an engine from the stored data.
    Reload(Sender<Result<(Engine, Loaded), StoreError>>),
    /// Check whether the disk has space again.
    CheckSpace,
    Close,
}

/// What the store thread reports to the engine thread.
#[derive(Debug)]
pub(super) enum StoreReport {
    /// The batch with this number was committed.
    Committed(u64, Committed),
    /// The disk is full: neither this batch nor any after it was written.
    DiskFull,
    /// The disk has space again.
    SpaceAvailable,
    /// Work without a commit is finished.
    Finished,
}

/// The store does its housekeeping after this long without work.
const IDLE: Duration = Duration::from_millis(500);

/// The state of the store thread.
pub(super) struct StoreLoop<S> {
    pub store: S,
    pub tokio: Tokio,
    pub clock: Clock,
    pub config: Config,
    pub seed: u64,
    pub work: Arc<Queue<Work>>,
    pub mailbox: Arc<Mailbox>,
    pub committed: mpsc::UnboundedSender<Release>,
    pub health: Health,
    pub keys: Arc<KeyTable>,
    pub request_limits: Arc<TenantRequestLimits>,
    pub on_fatal: Box<dyn Fn(&str) + Send>,
}

impl<S: Store> StoreLoop<S> {
    pub fn run(mut self) {
        // After a failed commit nothing is written until the engine has been rebuilt.
        let mut failed = false;
        // Done here and not before the start, because allocating the reserve may take long.
        if !self.store.restore_reserve() {
            tracing::warn!("there is no room on the disk for the reserve; free some space");
        }
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
                Work::Commit(batch, release) => failed = !self.commit(&batch, release),
                Work::ReleaseOnly(release) => {
                    self.release(release);
                    self.mailbox.put_report(StoreReport::Finished);
                }
                Work::Reload(reply) => {
                    failed = false;
                    let _ = reply.send(self.load());
                }
                Work::CheckSpace => {
                    if self.store.restore_reserve() {
                        self.mailbox.put_report(StoreReport::SpaceAvailable);
                    }
                }
                Work::Close => break,
            }
        }
        self.work.close();
        if let Err(error) = self.tokio.block_on(self.store.close()) {
            tracing::error!(%error, "the database was not closed in order; the next start recovers it");
        }
    }

    pub fn load(&mut self) -> Result<(Engine, Loaded), StoreError> {
        let restore = Restore::new(self.config.clone(), self.seed, self.clock.now());
        let mut sink = RestoreSink(restore);
        let loaded = self.tokio.block_on(self.store.load(&mut sink))?;
        let engine = sink
            .0
            .finish(loaded.next_seq, loaded.now, loaded.id_key, loaded.number)
            .map_err(StoreError::new)?;
        Ok((engine, loaded))
    }

    /// Commits a batch and releases its answers. Returns false if it was not written.
    fn commit(&mut self, batch: &Batch, mut release: Release) -> bool {
        match self.tokio.block_on(self.store.commit(batch)) {
            Ok(committed) => {
                self.keys.apply(std::mem::take(&mut release.keys));
                self.request_limits.apply(std::mem::take(&mut release.request_limits));
                self.release(release);
                self.mailbox.put_report(StoreReport::Committed(batch.number, committed));
                true
            }
            Err(CommitError::Full(cause)) => {
                tracing::error!(%cause, "the disk is full: no new jobs are accepted until there is room");
                self.health.set_disk_full(true);
                self.store.release_reserve();
                release.fail(&Unavailable::NotWritten);
                self.mailbox.put_report(StoreReport::DiskFull);
                false
            }
            Err(CommitError::Fatal(cause)) => {
                // It is unknown whether the batch was written, so nothing more may be answered.
                (self.on_fatal)(&cause);
                false
            }
        }
    }

    fn release(&self, release: Release) {
        if !release.is_empty() {
            let _ = self.committed.send(release);
        }
    }

    fn tidy(&mut self) {
        if let Err(error) = self.tokio.block_on(self.store.tidy()) {
            tracing::warn!(%error, "housekeeping of the database failed; it will be tried again");
        }
    }
}

/// Passes the rows of the store on to the engine that is being restored.
struct RestoreSink(Restore);

impl Sink for RestoreSink {
    fn class(&mut self, id: ClassId, class: Class, counts: Counts) {
        self.0.class(id, class, counts);
    }

    fn stored(&mut self, tenant: TenantId, bytes: u64) {
        self.0.stored(&tenant, bytes);
    }

    fn named(&mut self, kind: RowKind, name: std::sync::Arc<str>, json: bytes::Bytes) {
        self.0.named(kind, &name, &json);
    }

    fn live(&mut self, live: Live) {
        self.0.live(live);
    }

    fn history(&mut self, row: HistoryRow) {
        self.0.history(&row);
    }

    fn journal(&mut self, number: u64, data: bytes::Bytes) {
        self.0.journal(number, &data);
    }
}
