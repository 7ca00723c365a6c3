//! The store thread: commits one batch after another.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use rota_engine::{Config, Engine, Restore};
use rota_model::mutation::{Counts, RowKind};
use rota_model::{Class, ClassId, Live};
use rota_store::{Batch, CommitError, HistoryRow, Loaded, Sink, Store, StoreError};
use tokio::runtime::Handle as Tokio;
use tokio::sync::mpsc;

use super::ask::Unavailable;
use super::mailbox::Mailbox;
use super::queue::{Popped, Queue};
use super::release::Release;
use super::{Clock, Health};

pub(super) enum Work {
    Commit(Batch, Release),
    /// Nothing to write; goes out when everything before it has been written.
    Pass(Release),
    /// Build an engine from what is stored.
    Reload(Sender<Result<(Engine, Loaded), StoreError>>),
    /// See whether there is room on the disk again.
    CheckRoom,
    Close,
}

/// What the engine thread hears back.
#[derive(Debug)]
pub(super) enum Done {
    Committed(u64),
    /// Nothing of this batch, nor of those after it, was written.
    Full,
    Room,
    /// Work that needed no commit is done.
    Free,
}

/// Without work for so long, the store tidies up.
const IDLE: Duration = Duration::from_millis(500);

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
    pub on_fatal: Box<dyn Fn(&str) + Send>,
}

impl<S: Store> StoreLoop<S> {
    pub fn run(mut self) {
        // After a failure nothing is written until the engine has been built anew.
        let mut failed = false;
        // Not before the first request can come in: it takes as long as the disk takes.
        if !self.store.restore_reserve() {
            tracing::warn!("there is no room on the disk for the reserve; free some space");
        }
        loop {
            let work = match self.work.pop(IDLE) {
                Popped::Item(work) => work,
                Popped::Nothing => {
                    self.tidy();
                    continue;
                }
                Popped::Closed => break,
            };
            match work {
                Work::Commit(_, release) | Work::Pass(release) if failed => {
                    release.fail(&Unavailable::NotWritten);
                    self.mailbox.tell(Done::Free);
                }
                Work::Commit(batch, release) => failed = !self.commit(&batch, release),
                Work::Pass(release) => {
                    self.release(release);
                    self.mailbox.tell(Done::Free);
                }
                Work::Reload(reply) => {
                    failed = false;
                    let _ = reply.send(self.load());
                }
                Work::CheckRoom => {
                    if self.store.restore_reserve() {
                        self.mailbox.tell(Done::Room);
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
        let mut sink = Feed(restore);
        let loaded = self.tokio.block_on(self.store.load(&mut sink))?;
        let engine = sink
            .0
            .finish(loaded.next_seq, loaded.now, loaded.id_key, loaded.number)
            .map_err(StoreError::new)?;
        Ok((engine, loaded))
    }

    fn commit(&mut self, batch: &Batch, release: Release) -> bool {
        match self.tokio.block_on(self.store.commit(batch)) {
            Ok(()) => {
                self.release(release);
                self.mailbox.tell(Done::Committed(batch.number));
                true
            }
            Err(CommitError::Full(cause)) => {
                tracing::error!(%cause, "the disk is full: no new jobs are accepted until there is room");
                self.health.set_full(true);
                self.store.release_reserve();
                release.fail(&Unavailable::NotWritten);
                self.mailbox.tell(Done::Full);
                false
            }
            Err(CommitError::Fatal(cause)) => {
                // Whether it was written is unknown, so nobody may be told anything any more.
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

struct Feed(Restore);

impl Sink for Feed {
    fn class(&mut self, id: ClassId, class: Class, counts: Counts) {
        self.0.class(id, class, counts);
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
