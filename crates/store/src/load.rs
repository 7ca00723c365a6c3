//! What a store returns at startup, and the [`Sink`] that receives it.

use std::sync::Arc;

use bytes::Bytes;
use rota_model::{Class, ClassId, IdKey, Live, Millis, Seq, TenantId};

use crate::{Batch, Counts, HistoryRow, RowKind};

/// Receives the stored state in this order: classes, stored bytes, named rows, unfinished jobs by sequence
/// number, recent statistics, journal.
pub trait Sink: Send {
    fn class(&mut self, id: ClassId, class: Class, counts: Counts);
    /// The bytes of a tenant's jobs: bodies, results, errors and records of replays. Tenants without any
    /// are left out.
    fn stored(&mut self, tenant: TenantId, bytes: u64);
    fn named(&mut self, kind: RowKind, name: Arc<str>, json: Bytes);
    fn live(&mut self, live: Live);
    /// Per-minute statistics of the hour of the last commit, and of the hour before if that may not
    /// have been closed yet.
    fn history(&mut self, row: HistoryRow);
    /// The journal entry of the batch with this number, oldest first.
    fn journal(&mut self, number: u64, data: Bytes);
}

/// The position of the last committed batch, and the store's id key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loaded {
    /// Number of the last committed batch; 0 in a new store.
    pub number: u64,
    pub now: Millis,
    pub next_seq: Seq,
    /// How many events there have been.
    pub event_count: u64,
    /// The key that seals sequence numbers in job ids. It is created with the store and never changes.
    pub id_key: IdKey,
}

impl Loaded {
    /// The position behind a batch.
    #[must_use]
    pub fn after(self, batch: &Batch) -> Self {
        let &Batch { number, now, next_seq, event_count, .. } = batch;
        Self { number, now, next_seq, event_count, ..self }
    }
}
