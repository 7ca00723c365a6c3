//! Statistics of pools: dispatches, last requests, and whether overload was reported.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{Millis, PoolName};

use crate::meters::LastMinute;
use crate::stats::Dispatches;

#[derive(Default)]
pub(crate) struct PoolWatch {
    pools: BTreeMap<PoolName, PoolStats>,
    /// Full pools without waiting jobs: overload is reported as soon as a job waits.
    pub full: BTreeSet<PoolName>,
}

#[derive(Default)]
struct PoolStats {
    dispatched: LastMinute<Dispatches>,
    /// The event that it is full while jobs wait was sent.
    notified_full: bool,
    /// When one of its workers last asked for all of its queues, in monotonic ms.
    asked_at: Option<u64>,
}

impl PoolWatch {
    /// Dispatches of the last minute.
    pub fn dispatches(&mut self, pool: &PoolName) -> &mut LastMinute<Dispatches> {
        &mut self.stats(pool).dispatched
    }

    /// Jobs dispatched to its workers in the last minute.
    pub fn dispatched_in_minute(&self, pool: &PoolName, now: Millis) -> u64 {
        self.pools.get(pool).map_or(0, |stats| stats.dispatched.sum(now).jobs())
    }

    pub fn record_request(&mut self, pool: &PoolName, mono: u64) {
        self.stats(pool).asked_at = Some(mono);
    }

    pub fn asked_at(&self, pool: &PoolName) -> Option<u64> {
        self.pools.get(pool)?.asked_at
    }

    pub fn is_notified_full(&self, pool: &PoolName) -> bool {
        self.pools.get(pool).is_some_and(|stats| stats.notified_full)
    }

    pub fn set_notified_full(&mut self, pool: &PoolName, notified: bool) {
        self.stats(pool).notified_full = notified;
    }

    pub fn forget(&mut self, pool: &PoolName) {
        self.pools.remove(pool);
        self.full.remove(pool);
    }

    fn stats(&mut self, pool: &PoolName) -> &mut PoolStats {
        if !self.pools.contains_key(pool) {
            self.pools.insert(pool.clone(), PoolStats::default());
        }
        self.pools.get_mut(pool).expect("it was just put there")
    }
}
