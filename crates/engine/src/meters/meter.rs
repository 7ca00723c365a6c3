//! A meter: the metrics of one tenant label in one queue.

use std::collections::BTreeMap;
use std::sync::Arc;

use rota_model::mutation::Counts;
use rota_model::{PoolName, State};

use super::{LabelIx, Times};
use crate::job_counts::JobCounts;

/// Unfinished jobs and the dead letter as they are now; everything else counted since the process began.
#[derive(Debug, Clone)]
pub struct Meter {
    pub label: LabelIx,
    /// With queues per tenant: all queues of this name. `None` for all queues without a label.
    pub queue: Option<Arc<str>>,
    pub(crate) jobs: JobCounts,
    pub enqueued: u64,
    pub ended: Counts,
    /// Executions that failed, and those of them that are retried.
    pub failed: u64,
    pub retried: u64,
    /// Dispatches to workers in no pool, and by pool.
    pub dispatched: u64,
    pub in_pools: BTreeMap<PoolName, u64>,
    /// Enqueues that a full queue refused, and jobs dropped to make room.
    pub rejected: u64,
    pub dropped: u64,
    /// Jobs in the dead letter, as they are now.
    pub dead: u64,
    /// Jobs of the dead letter that were retried on request, and that were pruned.
    pub dead_retried: u64,
    pub pruned: u64,
    /// Durations of completed executions.
    pub ran: Option<Box<Times>>,
    /// Waits from acceptance to the first start.
    pub waited: Option<Box<Times>>,
    /// Shards that are counted here.
    pub(super) shards: u32,
    /// Something was counted here, so it is included in metrics.
    pub(super) seen: bool,
}

impl Meter {
    pub(super) fn new(label: LabelIx, queue: Option<Arc<str>>) -> Self {
        Self {
            label,
            queue,
            jobs: JobCounts::default(),
            enqueued: 0,
            ended: Counts::default(),
            failed: 0,
            retried: 0,
            dispatched: 0,
            in_pools: BTreeMap::new(),
            rejected: 0,
            dropped: 0,
            dead: 0,
            dead_retried: 0,
            pruned: 0,
            ran: None,
            waited: None,
            shards: 0,
            seen: false,
        }
    }

    /// Unfinished jobs in this state.
    #[must_use]
    pub fn of(&self, state: State) -> u64 {
        self.jobs.count(state)
    }

    /// Waiting jobs in any state.
    #[must_use]
    pub fn depth(&self) -> u64 {
        self.jobs.depth()
    }

    /// Bytes of waiting jobs.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.jobs.bytes
    }

    pub(crate) fn record_run(&mut self, ms: u64) {
        self.ran.get_or_insert_with(|| Box::new(Times::of_executions())).record(ms);
    }

    pub(crate) fn record_wait(&mut self, ms: u64) {
        self.waited.get_or_insert_with(|| Box::new(Times::of_waits())).record(ms);
    }

    pub(super) fn count_dispatch(&mut self, pool: Option<&PoolName>) {
        let Some(name) = pool else {
            self.dispatched += 1;
            return;
        };
        match self.in_pools.get_mut(name) {
            Some(count) => *count += 1,
            None => {
                self.in_pools.insert(name.clone(), 1);
            }
        }
    }
}
