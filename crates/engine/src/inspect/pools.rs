//! Looking at pools and at how queues were served.

use rota_model::{PoolConfig, PoolName, QueueName, State};

use crate::{Engine, Origin};

#[derive(Debug, Clone)]
pub struct PoolView {
    pub name: PoolName,
    pub origin: Origin,
    pub config: PoolConfig,
    pub active_workers: usize,
    pub active_jobs: u64,
    pub dispatched_1m: u64,
    /// By queue, since the process began.
    pub dispatched: Vec<(QueueName, u64)>,
}

/// How a queue was served in the last minute.
#[derive(Debug, Clone)]
pub struct QueueShare {
    pub name: QueueName,
    pub dispatched: u64,
    pub ratio: f64,
    pub avg_wait_ms: Option<f64>,
    pub active: u64,
    /// Since the process began.
    pub starved: u64,
    pub dispatched_total: u64,
    pub rejected_total: u64,
    pub dropped_total: u64,
    pub pressure: Option<f64>,
    pub wait_ms: crate::Histogram,
}

impl Engine {
    #[must_use]
    pub fn pool(&self, name: &PoolName) -> Option<PoolView> {
        self.pool_view(name)
    }

    #[must_use]
    pub fn pools(&self) -> Vec<PoolView> {
        self.pools.iter().filter_map(|(name, _)| self.pool_view(name)).collect()
    }

    pub(crate) fn pool_view(&self, name: &PoolName) -> Option<PoolView> {
        let pool = self.pools.get(name)?;
        let minute = self.wall().0.div_euclid(60_000);
        let dispatched_1m = match minute - pool.minute.0 {
            0 => pool.minute.1 + pool.minute.2,
            1 => pool.minute.1,
            _ => 0,
        };
        let members = self.workers.iter().filter(|worker| !worker.stale);
        let members = members.filter(|worker| worker.row.about.pool.as_ref() == Some(name));
        Some(PoolView {
            name: name.clone(),
            origin: pool.origin(),
            config: pool.config().clone(),
            active_workers: members.count(),
            active_jobs: pool.active,
            dispatched_1m,
            dispatched: pool.dispatched.iter().map(|(queue, n)| (queue.clone(), *n)).collect(),
        })
    }

    /// How each queue was served in the last minute, by name.
    #[must_use]
    pub fn queue_shares(&self) -> Vec<QueueShare> {
        let left = (60_000 - self.wall().0.rem_euclid(60_000)) as u64;
        let all = self.dispatched_lately();
        let mut shares: Vec<QueueShare> = self
            .queues
            .iter()
            .map(|queue| {
                let stats = &queue.stats;
                let dispatched = stats.minute.dispatched + stats.last.dispatched * left / 60_000;
                let mut wait_ms = stats.last.wait_ms.clone();
                wait_ms.merge(&stats.minute.wait_ms);
                QueueShare {
                    name: queue.name.clone(),
                    dispatched,
                    ratio: if all == 0 { 0.0 } else { dispatched as f64 / all as f64 },
                    avg_wait_ms: wait_ms.mean(),
                    active: queue.count(State::Active),
                    starved: queue.starved,
                    dispatched_total: queue.dispatched,
                    rejected_total: queue.rejected,
                    dropped_total: queue.dropped,
                    pressure: queue.pressure(),
                    wait_ms,
                }
            })
            .collect();
        shares.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        shares
    }
}
