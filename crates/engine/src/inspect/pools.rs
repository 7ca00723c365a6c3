//! Views of pools, and of how queues were served.

use rota_model::{PoolConfig, PoolName, PoolTenants, QueueName, State, TenantId};

use crate::queue::QueueIx;
use crate::scheduler::Pool;
use crate::{ConfigOrigin, Engine};

#[derive(Debug, Clone)]
pub struct PoolView {
    /// The engine's name, which says whose it is.
    pub name: PoolName,
    /// The tenants that an operator's pool is open to; `None` for a tenant's pool.
    pub tenants: Option<PoolTenants>,
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
    /// The pool that a caller means by a name; `None` for the tenant is an operator.
    #[must_use]
    pub fn pool(&self, tenant: Option<&TenantId>, name: &PoolName) -> Option<PoolView> {
        self.pool_view(&self.scheduler.pools().resolve(tenant, name)?)
    }

    /// Up to `most` pools that a tenant may use, after this name, without the first `skip`. `local` is
    /// a name without the owner.
    #[must_use]
    pub fn pools_of_tenant_after(
        &self,
        tenant: &TenantId,
        local: &str,
        skip: usize,
        most: usize,
    ) -> Vec<PoolView> {
        let pools = self.scheduler.pools();
        let first = pools.next_usable(tenant, local);
        let all = std::iter::successors(first, |(name, _)| pools.next_usable(tenant, name.local()));
        all.skip(skip).take(most).map(|(name, pool)| self.view_of_pool(name, pool)).collect()
    }

    #[must_use]
    pub fn pool_count_of_tenant(&self, tenant: &TenantId) -> usize {
        self.scheduler.pools().count_usable(tenant)
    }

    /// Up to `most` pools after this name, without the first `skip`.
    #[must_use]
    pub fn pools_after(&self, name: &str, skip: usize, most: usize) -> Vec<PoolView> {
        let page = self.scheduler.pools().after(name).skip(skip).take(most);
        page.map(|(name, pool)| self.view_of_pool(name, pool)).collect()
    }

    /// Up to `most` pools of the operator after this name.
    #[must_use]
    pub fn operators_pools_after(&self, name: &str, most: usize) -> Vec<PoolView> {
        let page = self.scheduler.pools().of_operator_after(name).take(most);
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
            tenants: self.scheduler.pools().tenants_of(name),
            origin: pool.origin(),
            config: pool.config().clone(),
            active_workers: self.workers.tallies().in_pool(name),
            active_jobs: pool.slots.active,
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
