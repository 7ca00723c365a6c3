//! The batch of mutations that a store commits in one transaction.

use rota_model::mutation::Mutation;
use rota_model::{Millis, Seq};

/// The mutations that the engine has produced since the previous batch.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// Consecutive from 1. A store rejects any number other than the last one plus one.
    pub number: u64,
    /// The latest time the engine has seen. It never decreases, not even across restarts.
    pub now: Millis,
    /// The sequence number of the next job to be inserted.
    pub next_seq: Seq,
    /// The changes, to be applied in this order.
    pub mutations: Vec<Mutation>,
}
