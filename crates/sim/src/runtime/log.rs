//! The commit log: one record per batch, in the binary encoding. What was not synced may not survive a crash.

use std::collections::VecDeque;

use bytes::Bytes;
use rota_store::{Batch, encoding};

/// Records are given up in groups, as the real log gives up whole segments.
const SEGMENT: u64 = 3;

#[derive(Debug, Default)]
pub struct Log {
    records: VecDeque<(u64, Bytes)>,
    /// The number of the newest record that a crash cannot take.
    synced: u64,
}

impl Log {
    /// Writes a record behind the others. It is not synced.
    pub fn append(&mut self, batch: &Batch) {
        let mut payload = Vec::new();
        encoding::encode(batch, &[], &mut payload);
        self.records.push_back((batch.number, payload.into()));
    }

    /// Syncs the records up to this one.
    pub fn sync(&mut self, number: u64) {
        self.synced = self.synced.max(number);
    }

    /// The number of the newest record.
    #[must_use]
    pub fn tip(&self) -> u64 {
        self.records.back().map_or(self.synced, |(number, _)| *number)
    }

    /// A crash takes what was not synced.
    pub fn lose_unsynced(&mut self) {
        self.records.retain(|(number, _)| *number <= self.synced);
    }

    /// Reads a record as a start does.
    pub fn read(&self, number: u64) -> Result<Batch, String> {
        let first = self.records.front().map_or(self.synced + 1, |(first, _)| *first);
        let at = number.checked_sub(first).and_then(|at| usize::try_from(at).ok());
        let Some((_, payload)) = at.and_then(|at| self.records.get(at)) else {
            return Err(format!("the log begins at {first} and does not have record {number}"));
        };
        encoding::decode(payload.clone()).map_err(|error| format!("record {number}: {error}"))
    }

    /// Gives up records below this number, except the newest.
    pub fn truncate(&mut self, below: u64) {
        let below = below - below % SEGMENT;
        while self.records.len() > 1
            && self.records.front().is_some_and(|(number, _)| *number < below)
        {
            self.records.pop_front();
        }
    }
}
