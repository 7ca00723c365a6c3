//! Looking at pools and at how queues were served.

use std::collections::BTreeMap;

use rota_model::{PoolConfig, PoolName, QueueName, State};

use crate::scheduler::Pool;
use crate::{Engine, Origin};

#[derive(Debug, Clone)]
pub struct PoolView {
    pub name: PoolName,
    pub origin: Origin,
    pub config: PoolConfig,
    pub active_workers: usize,
    pub active_jobs: u64,
    pub dispatched_1m: u64,
}

/// How a queue was served in the last minute.
#[derive(Debug, Clone)]
pub struct QueueShare {
    pub name: QueueName,
    pub dispatched: u64,
    pub ratio: f64,
    pub avg_wait_ms: Option<f64>,
    pub active: u64,
    /// Times that it went without for too long, since the process began.
    pub starved: u64,
    /// It has been without for too long, and still is.
    pub starves: bool,
}

impl Engine {
    #[must_use]
    pub fn pool(&self, name: &PoolName) -> Option<PoolView> {
        self.pool_view(name)
    }

    #[must_use]
    pub fn pools(&self) -> Vec<PoolView> {
        let mut workers: BTreeMap<&PoolName, usize> = BTreeMap::new();
        for worker in self.workers.iter().filter(|worker| !worker.stale) {
            if let Some(pool) = &worker.row.about.pool {
                *workers.entry(pool).or_default() += 1;
            }
        }
        let members = |name| workers.get(name).copied().unwrap_or(0);
        let pools = self.scheduler.pools();
        pools.iter().map(|(name, pool)| self.view_of_pool(name, pool, members(name))).collect()
    }

    pub(crate) fn pool_view(&self, name: &PoolName) -> Option<PoolView> {
        let pool = self.scheduler.pools().get(name)?;
        let members = self.workers.iter().filter(|worker| !worker.stale);
        let members = members.filter(|worker| worker.row.about.pool.as_ref() == Some(name));
        Some(self.view_of_pool(name, pool, members.count()))
    }

    fn view_of_pool(&self, name: &PoolName, pool: &Pool, active_workers: usize) -> PoolView {
        PoolView {
            name: name.clone(),
            origin: pool.origin(),
            config: pool.config().clone(),
            active_workers,
            active_jobs: pool.active,
            dispatched_1m: self.pool_watch.dispatched_in_minute(name, self.wall()),
        }
    }

    /// How each queue was served in the last minute, by name.
    #[must_use]
    pub fn queue_shares(&self) -> Vec<QueueShare> {
        let (now, all) = (self.wall(), self.dispatched_in_minute());
        let mut shares: Vec<QueueShare> = self
            .queues
            .iter()
            .filter(|queue| queue.exists)
            .map(|queue| {
                let dispatches = queue.stats.dispatches.sum(now);
                let dispatched = dispatches.jobs();
                QueueShare {
                    name: queue.name.clone(),
                    dispatched,
                    ratio: if all == 0 { 0.0 } else { dispatched as f64 / all as f64 },
                    avg_wait_ms: dispatches.mean_wait_ms(),
                    active: queue.count(State::Active),
                    starved: queue.starved,
                    starves: queue.starves && queue.count(State::Available) > 0,
                }
            })
            .collect();
        shares.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        shares
    }
}
