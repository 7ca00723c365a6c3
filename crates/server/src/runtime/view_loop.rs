//! The thread of the view: applies what the log has committed, in portions as large as what has gathered.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rota_engine::{Config, Engine, Restore};
use rota_model::mutation::{Counts, RowKind};
use rota_model::{Class, ClassId, Live, TenantId};
use rota_store::{ApplyError, Batch, HistoryRow, Loaded, Sink, StoreError, View};
use tokio::runtime::Handle as Tokio;
use tokio::sync::mpsc;

use super::commit_loop::StoreReport;
use super::mailbox::Mailbox;
use super::release::Release;
use super::view_position::ViewPosition;
use super::view_queue::{ViewQueue, ViewWork};
use super::{Clock, Health};

/// The view does its housekeeping after this long without work.
const IDLE: Duration = Duration::from_millis(500);
/// The most bytes of batches in one transaction.
const PORTION_BYTES: usize = 4 << 20;
/// How long to wait for space on a full disk before a portion is tried again.
const RETRY: Duration = Duration::from_millis(100);

/// The state of the thread.
pub(super) struct ViewLoop<V> {
    pub view: V,
    pub tokio: Tokio,
    pub clock: Clock,
    pub config: Config,
    pub seed: u64,
    pub queue: Arc<ViewQueue>,
    pub position: Arc<ViewPosition>,
    pub mailbox: Arc<Mailbox>,
    pub released: mpsc::UnboundedSender<Release>,
    pub health: Health,
    pub on_fatal: Box<dyn Fn(&str) + Send>,
}

/// Batches that are applied in one transaction.
#[derive(Default)]
struct Portion {
    batches: Vec<Batch>,
    bytes: usize,
    /// Answers that wait until they are applied.
    late: Vec<Release>,
}

impl<V: View> ViewLoop<V> {
    pub fn run(mut self) {
        // Done here and not before the start, because allocating the reserve may take long.
        if !self.view.restore_reserve() {
            tracing::warn!("there is no room on the disk for the reserve; free some space");
        }
        while self.serve() {}
        self.queue.close();
        self.position.stop();
        if let Err(error) = self.tokio.block_on(self.view.close()) {
            tracing::error!(%error, "the database was not closed in order; the next start recovers it");
        }
    }

    /// Does what is in the queue. Returns false if the view is to close.
    fn serve(&mut self) -> bool {
        let taken = self.queue.take(PORTION_BYTES, IDLE);
        if taken.is_empty() {
            self.tidy();
        }
        let mut portion = Portion::default();
        for work in taken {
            if let ViewWork::Apply(batch, bytes, late) = work {
                portion.batches.push(batch);
                portion.bytes += bytes;
                portion.late.push(late);
                continue;
            }
            if !self.apply(std::mem::take(&mut portion)) {
                return false;
            }
            match work {
                ViewWork::Load(reply) => drop(reply.send(self.load())),
                ViewWork::MakeRoom(reply) => {
                    self.view.release_reserve();
                    self.position.set_durable(self.view.durable());
                    let _ = reply.send(());
                }
                ViewWork::CheckSpace => {
                    if self.view.restore_reserve() {
                        self.mailbox.put_report(StoreReport::SpaceAvailable);
                    }
                }
                ViewWork::Close | ViewWork::Apply(..) => return false,
            }
        }
        self.apply(portion)
    }

    pub fn load(&mut self) -> Result<(Engine, Loaded), StoreError> {
        let restore = Restore::new(self.config.clone(), self.seed, self.clock.now());
        let mut sink = RestoreSink(restore);
        let loaded = self.tokio.block_on(self.view.load(&mut sink))?;
        let engine = sink
            .0
            .finish(loaded.next_seq, loaded.now, loaded.id_key, loaded.number)
            .map_err(StoreError::new)?;
        Ok((engine, loaded))
    }

    /// Applies batches and releases the answers that wait for it. Returns false if the server must stop.
    fn apply(&mut self, portion: Portion) -> bool {
        let Some(last) = portion.batches.last().map(|batch| batch.number) else { return true };
        loop {
            match self.tokio.block_on(self.view.apply(&portion.batches)) {
                Ok(applied) => {
                    self.position.set_applied(last);
                    self.position.set_durable(self.view.durable());
                    self.position.set_short_of_space(false);
                    self.queue.applied(portion.bytes);
                    self.mailbox.put_report(StoreReport::Applied(last, applied));
                    let late = portion.late.into_iter().filter(|late| !late.is_empty());
                    late.for_each(|late| drop(self.released.send(late)));
                    return true;
                }
                Err(ApplyError::Full(cause)) => {
                    if !self.wait_for_space(&cause) {
                        return false;
                    }
                }
                Err(ApplyError::Fatal(cause)) => {
                    (self.on_fatal)(&cause);
                    return false;
                }
            }
        }
    }

    /// The log has the batches, so nothing is lost; they are applied when there is space, at the latest by the
    /// next start. Returns false if the server stops.
    fn wait_for_space(&mut self, cause: &str) -> bool {
        if !self.health.is_disk_full() {
            tracing::error!(%cause, "the disk is full: no new jobs are accepted until there is room");
            self.health.set_disk_full(true);
        }
        self.view.release_reserve();
        self.position.set_durable(self.view.durable());
        self.position.set_short_of_space(true);
        if self.queue.is_closing() {
            return false;
        }
        std::thread::sleep(RETRY);
        true
    }

    fn tidy(&mut self) {
        if let Err(error) = self.tokio.block_on(self.view.tidy()) {
            tracing::warn!(%error, "housekeeping of the database failed; it will be tried again");
        }
        self.position.set_durable(self.view.durable());
    }
}

/// Passes the rows of the view on to the engine that is being restored.
struct RestoreSink(Restore);

impl Sink for RestoreSink {
    fn class(&mut self, id: ClassId, class: Class, counts: Counts) {
        self.0.class(id, class, counts);
    }

    fn stored(&mut self, tenant: TenantId, bytes: u64) {
        self.0.stored(&tenant, bytes);
    }

    fn named(&mut self, kind: RowKind, name: Arc<str>, json: Bytes) {
        self.0.named(kind, &name, &json);
    }

    fn live(&mut self, live: Live) {
        self.0.live(live);
    }

    fn history(&mut self, row: HistoryRow) {
        self.0.history(&row);
    }

    fn journal(&mut self, number: u64, data: Bytes) {
        self.0.journal(number, &data);
    }
}
