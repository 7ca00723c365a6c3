//! The batch of mutations that is one record of the log.

use rota_model::mutation::Mutation;
use rota_model::{Millis, Seq, TenantId};

/// The mutations that the engine has produced since the previous batch.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// Consecutive from 1: the index of its record in the log. A view rejects any number other than the last
    /// one plus one.
    pub number: u64,
    /// The latest time the engine has seen. It never decreases, not even across restarts.
    pub now: Millis,
    /// The sequence number of the next job to be inserted.
    pub next_seq: Seq,
    /// How many events there have been, with those of this batch. They are numbered from 1 through all batches.
    pub event_count: u64,
    /// The changes, to be applied in this order.
    pub mutations: Vec<Mutation>,
}

/// What applying batches did that only the view knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Bytes of jobs that the batches removed or replaced, by tenant; see [`Sink::stored`](crate::Sink::stored).
    pub freed: Vec<(TenantId, u64)>,
}
