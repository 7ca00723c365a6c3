//! Figures for those who watch from outside, a slice at a time: with many tenants, all of them at once
//! would keep everyone waiting.

use std::collections::BTreeMap;

use rota_model::mutation::Counts;
use rota_model::{QueueName, State, TenantId};

use super::tenants::{last_minute, part};
use crate::sched::{Queue, ShardIx};
use crate::stats::Interval;
use crate::tenant::{Tenant, TenantIx};
use crate::{Engine, ShardTotals};

/// A queue; what is counted is counted since the process began.
#[derive(Debug, Clone)]
pub struct QueueMeter {
    pub name: QueueName,
    live: [u64; State::ALL.len()],
    pub bytes: u64,
    pub pressure: Option<f64>,
    pub bounded: bool,
    pub past: Interval,
    pub ended: Counts,
    pub retried: u64,
    pub dispatched: u64,
    /// Its part of all dispatches in the last minute.
    pub ratio: f64,
    pub starved: u64,
    pub rejected: u64,
    pub dropped: u64,
}

impl QueueMeter {
    /// Living jobs.
    #[must_use]
    pub fn of(&self, state: State) -> u64 {
        self.live[usize::from(state.code())]
    }
}

/// A tenant and its parts of queues.
#[derive(Debug, Clone)]
pub struct TenantMeter {
    pub id: TenantId,
    /// Its part of what was handed out in the last minute.
    pub share: f64,
    pub shards: Vec<ShardMeter>,
}

#[derive(Debug, Clone)]
pub struct ShardMeter {
    pub queue: QueueName,
    pub active: u64,
    pub depth: u64,
    pub totals: ShardTotals,
}

impl Engine {
    /// So many queues from this place on, in the order in which they came up. Fewer are the last.
    #[must_use]
    pub fn queue_meters(&self, from: usize, most: usize) -> Vec<QueueMeter> {
        let (left, all) = (self.left_of_minute(), self.dispatched_lately());
        let meter = |queue: &Queue| {
            let stats = &queue.stats;
            let lately = stats.minute.dispatched + stats.last.dispatched * left / 60_000;
            QueueMeter {
                name: queue.name.clone(),
                live: State::ALL.map(|state| match state.is_terminal() {
                    true => 0,
                    false => queue.count(state),
                }),
                bytes: queue.jobs.bytes,
                pressure: queue.pressure(),
                bounded: queue.is_bounded(),
                past: stats.since_start(),
                ended: queue.ended,
                retried: queue.retried,
                dispatched: queue.dispatched,
                ratio: part(lately, all),
                starved: queue.starved,
                rejected: queue.rejected,
                dropped: queue.dropped,
            }
        };
        self.queues.iter().skip(from).take(most).map(meter).collect()
    }

    /// So many tenants from this place on, in the order in which they came up, without those that were
    /// forgotten; and the place to go on from, if there are more.
    #[must_use]
    pub fn tenant_meters(&self, from: usize, most: usize) -> (Vec<TenantMeter>, Option<usize>) {
        let (now, all) = (self.wall(), self.dispatched_lately());
        let meter = |(_, tenant): (TenantIx, &Tenant)| TenantMeter {
            id: tenant.id.clone(),
            share: part(u64::from(last_minute(tenant, now).started), all),
            shards: tenant.shards.iter().map(|shard| self.shard_meter(*shard)).collect(),
        };
        let slice = self.tenants.slice(from, most).map(meter).collect();
        (slice, self.tenants.after_slice(from, most))
    }

    fn shard_meter(&self, ix: ShardIx) -> ShardMeter {
        let shard = self.shards.get(ix);
        ShardMeter {
            queue: self.queues.get(shard.queue).name.clone(),
            active: shard.jobs.count(State::Active),
            depth: shard.jobs.depth(),
            totals: shard.totals,
        }
    }

    /// Workers by what they are doing.
    #[must_use]
    pub fn workers_by_state(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for worker in self.workers.iter() {
            *counts.entry(worker.state().as_str()).or_default() += 1;
        }
        counts
    }
}
