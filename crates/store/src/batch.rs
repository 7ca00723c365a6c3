//! One batch is one transaction.

use rota_model::mutation::Mutation;
use rota_model::{Millis, Seq};

/// Everything decided since the last commit. Batches are numbered without gaps, and a store
/// refuses one that does not follow the last.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub number: u64,
    /// The highest time that the engine has seen; it never goes back, even over a restart.
    pub now: Millis,
    /// The sequence number that the next job gets.
    pub next_seq: Seq,
    /// The mutation vocabulary lives in `rota_model::mutation`: the engine must not see a store.
    pub mutations: Vec<Mutation>,
}
