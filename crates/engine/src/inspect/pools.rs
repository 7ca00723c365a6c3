//! Views of pools, and of how queues were served.

use rota_model::{PoolConfig, PoolName, QueueName, State, TenantId};

use crate::queue::QueueIx;
use crate::scheduler::Pool;
use crate::{ConfigOrigin, Engine};

#[derive(Debug, Clone)]
pub struct PoolView {
    pub name: PoolName,
    pub origin: ConfigOrigin,
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
    /// Times that it was starved, since the process began.
    pub starved: u64,
    /// It is starved now.
    pub starves: bool,
}

impl Engine {
    #[must_use]
    pub fn pool(&self, name: &PoolName) -> Option<PoolView> {
        self.pool_view(name)
    }

    /// Up to `most` pools after this name, without the first `skip`.
    #[must_use]
    pub fn pools_after(&self, name: &str, skip: usize, most: usize) -> Vec<PoolView> {
        let page = self.scheduler.pools().after(name).skip(skip).take(most);
        page.map(|(name, pool)| self.view_of_pool(name, pool)).collect()
    }

    #[must_use]
    pub fn pool_count(&self) -> usize {
        self.scheduler.pools().len()
    }

    pub(crate) fn pool_view(&self, name: &PoolName) -> Option<PoolView> {
        let pool = self.scheduler.pools().get(name)?;
        Some(self.view_of_pool(name, pool))
    }

    fn view_of_pool(&self, name: &PoolName, pool: &Pool) -> PoolView {
        PoolView {
            name: name.clone(),
            origin: pool.origin(),
            config: pool.config().clone(),
            active_workers: self.workers.tallies().in_pool(name),
            active_jobs: pool.active,
            dispatched_1m: self.pool_watch.dispatched_in_minute(name, self.wall()),
        }
    }

    /// Up to `most` queues after this name, and how each was served in the last minute.
    #[must_use]
    pub fn queue_shares_after(&self, name: &str, most: usize) -> Vec<QueueShare> {
        let page = self.queues.existing_after(name).take(most);
        page.map(|ix| self.queue_share(ix)).collect()
    }

    /// The same for one tenant's namespace. `local` is a name without namespace.
    #[must_use]
    pub fn queue_shares_of_tenant(
        &self,
        tenant: &TenantId,
        local: &str,
        most: usize,
    ) -> Vec<QueueShare> {
        let prefix = format!("{tenant}/");
        let after = format!("{prefix}{local}");
        let behind = self.queues.existing_after(&after);
        let of_tenant = behind.take_while(|ix| self.queues.get(*ix).name.starts_with(&prefix));
        of_tenant.take(most).map(|ix| self.queue_share(ix)).collect()
    }

    fn queue_share(&self, ix: QueueIx) -> QueueShare {
        let (now, all) = (self.wall(), self.dispatched_in_minute());
        let queue = self.queues.get(ix);
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
    }
}
