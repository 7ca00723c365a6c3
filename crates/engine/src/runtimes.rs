//! Estimated run times by job type, for charging starts by run time.

use std::collections::HashMap;

use ahash::RandomState;
use rota_model::JobType;

/// A moving average for each type, in ms.
pub(crate) struct Runtimes(HashMap<JobType, u64, RandomState>);

/// Assumed for a type without completed runs.
const UNKNOWN_MS: u64 = 1_000;
const MOST_TYPES: usize = 10_000;

impl Runtimes {
    pub fn new(hasher: RandomState) -> Self {
        Self(HashMap::with_hasher(hasher))
    }

    pub fn estimate(&self, kind: &JobType) -> u64 {
        self.0.get(kind).copied().unwrap_or(UNKNOWN_MS).max(1)
    }

    pub fn record(&mut self, kind: &JobType, ms: u64) {
        if let Some(average) = self.0.get_mut(kind) {
            *average = (*average * 7 + ms) / 8;
        } else if self.0.len() < MOST_TYPES {
            self.0.insert(kind.clone(), ms);
        }
    }
}
