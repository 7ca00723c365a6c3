//! What a start reads.

use std::sync::Arc;

use bytes::Bytes;
use rota_model::{Class, ClassId, Live, Millis, Seq};

use crate::{Counts, Kind};

/// Takes what a store holds, in this order: classes, named things, then living jobs by sequence.
pub trait Sink: Send {
    fn class(&mut self, id: ClassId, class: Class, counts: Counts);
    fn named(&mut self, kind: Kind, name: Arc<str>, json: Bytes);
    fn live(&mut self, live: Live);
}

/// Where the last commit left off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loaded {
    /// The last batch's number; 0 when there was none.
    pub number: u64,
    pub now: Millis,
    pub next_seq: Seq,
}
