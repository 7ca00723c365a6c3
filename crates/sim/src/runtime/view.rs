//! The view: follows the log in portions, each of them whole or not at all. A power cut takes it back to its last
//! checkpoint.

use std::collections::VecDeque;

use rota_store::{Applied, Batch};

use super::log::Log;
use super::release::Release;
use crate::MemoryStore;

#[derive(Default)]
pub struct View {
    /// What readers see.
    store: MemoryStore,
    /// What a power cut leaves.
    durable: MemoryStore,
    /// Batches that were applied after the last checkpoint, as the log has them.
    since: VecDeque<Batch>,
    /// Committed batches that are not applied, and answers that wait until they are.
    queue: VecDeque<(Batch, Release)>,
    /// So many of them are in the transaction that is under way.
    portion: usize,
}

/// What a transaction has done.
#[derive(Default)]
pub struct Portion {
    /// The number of each batch, and what it removed.
    pub applied: Vec<(u64, Applied)>,
    /// The answers that waited for it.
    pub late: Vec<Release>,
}

impl View {
    #[must_use]
    pub fn store(&self) -> &MemoryStore {
        &self.store
    }

    pub fn store_mut(&mut self) -> &mut MemoryStore {
        &mut self.store
    }

    /// The number of the newest batch that readers see.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.store.loaded().number
    }

    /// The number of the newest batch that a power cut cannot take.
    #[must_use]
    pub fn durable(&self) -> u64 {
        self.durable.loaded().number
    }

    /// How many batches are committed and not applied.
    #[must_use]
    pub fn lag(&self) -> usize {
        self.queue.len()
    }

    /// A batch is committed. `late` goes out when the view has it.
    pub fn push(&mut self, batch: Batch, late: Release) {
        self.queue.push_back((batch, late));
    }

    /// Begins a transaction of up to so many batches, unless one is under way. Readers do not see it yet.
    pub fn begin_portion(&mut self, most: usize) {
        if self.portion == 0 {
            self.portion = most.min(self.queue.len());
        }
    }

    #[must_use]
    pub fn is_in_portion(&self) -> bool {
        self.portion > 0
    }

    /// Ends the transaction.
    pub fn finish_portion(&mut self, log: &Log) -> Result<Portion, String> {
        let mut portion = Portion::default();
        for (batch, release) in self.queue.drain(..std::mem::take(&mut self.portion)) {
            portion.applied.push((batch.number, self.store.apply_batch(&batch)?));
            portion.late.push(release);
            self.since.push_back(log.read(batch.number)?);
        }
        Ok(portion)
    }

    /// Makes up to so many of the applied batches durable.
    pub fn checkpoint(&mut self, most: usize) -> Result<(), String> {
        for batch in self.since.drain(..most.min(self.since.len())) {
            self.durable.apply_batch(&batch)?;
        }
        Ok(())
    }

    /// The process is gone, and with it the transaction that was under way.
    pub fn crash(&mut self) {
        self.queue.clear();
        self.portion = 0;
    }

    /// What was applied after the last checkpoint is gone as well.
    pub fn lose_power(&mut self) {
        self.crash();
        self.since.clear();
        self.store = self.durable.clone();
    }

    /// A start applies a record of the log.
    pub fn replay(&mut self, batch: Batch) -> Result<(), String> {
        self.store.apply_batch(&batch)?;
        self.since.push_back(batch);
        Ok(())
    }
}
