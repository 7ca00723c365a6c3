//! What a start reads.

use std::sync::Arc;

use bytes::Bytes;
use rota_model::{Class, ClassId, IdKey, Live, Millis, Seq};

use crate::{Counts, HistoryRow, RowKind};

/// Takes what a store holds, in this order: classes, named things, living jobs by sequence, recent
/// statistics, then the journal.
pub trait Sink: Send {
    fn class(&mut self, id: ClassId, class: Class, counts: Counts);
    fn named(&mut self, kind: RowKind, name: Arc<str>, json: Bytes);
    fn live(&mut self, live: Live);
    /// Minutes of the hour in which the last commit was made.
    fn history(&mut self, row: HistoryRow);
    /// What the batch of this number wrote, the oldest first.
    fn journal(&mut self, number: u64, data: Bytes);
}

/// Where the last commit left off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loaded {
    /// The last batch's number; 0 when there was none.
    pub number: u64,
    pub now: Millis,
    pub next_seq: Seq,
    /// Made with the store, and the same for ever.
    pub id_key: IdKey,
}
