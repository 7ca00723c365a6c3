//! Events for pools that have no room while jobs wait for them.
//!
//! A pool has no room when it is at its own concurrency, or when each of its workers is. The event
//! is sent once, and again only after a fetch has found room and no job: under load, every job that
//! ends makes room for a moment.

use rota_model::{PoolName, State, WorkerId};

use crate::queue::QueueIx;
use crate::scheduler::FetchRequest;
use crate::{Engine, EventKind};

impl Engine {
    /// After a restart: counts all workers, with the jobs that they hold.
    pub(crate) fn count_workers(&mut self) {
        let ids: Vec<WorkerId> = self.workers.ids().cloned().collect();
        ids.iter().for_each(|id| self.worker_changed(id));
    }

    pub(crate) fn check_pool_overload(&mut self, ask: &FetchRequest) {
        let Some(name) = &ask.pool else { return };
        if self.pool_watch.is_notified_full(name) || !self.is_full(name) {
            return;
        }
        let waiting = self.waiting_in_pool(name, self.scheduler.requested_queues(ask).into_iter());
        self.notify_pool_full(name, waiting);
    }

    /// Jobs were added to these queues: checks the full pools that serve them.
    pub(crate) fn check_full_pools(&mut self, queues: &[QueueIx]) {
        if self.pool_watch.full.is_empty() {
            return;
        }
        for name in self.pool_watch.full.clone() {
            let serves = |ix: &QueueIx| {
                let queue = &self.queues.get(*ix).name;
                self.scheduler.pools().get(&name).is_some_and(|pool| pool.has(queue))
            };
            if !self.is_full(&name) {
                self.pool_watch.full.remove(&name);
            } else if queues.iter().any(serves) {
                let waiting = self.waiting_in_pool(&name, queues.iter().copied().filter(serves));
                self.notify_pool_full(&name, waiting);
            }
        }
    }

    fn notify_pool_full(&mut self, name: &PoolName, waiting: u64) {
        if waiting == 0 {
            // Jobs that come later are checked for the operator's pools only, which are few. A tenant's
            // pool is checked when its workers ask again.
            if name.owner_name().is_none() {
                self.pool_watch.full.insert(name.clone());
            }
            return;
        }
        self.pool_watch.full.remove(name);
        let Some(pool) = self.scheduler.pools().get(name) else { return };
        self.pool_watch.set_notified_full(name, true);
        let active = pool.slots.active;
        self.emit(EventKind::PoolOverloaded { pool: name.clone(), active, waiting });
    }

    fn is_full(&self, name: &PoolName) -> bool {
        let pool = self.scheduler.pools().get(name);
        pool.is_some_and(|pool| pool.room() == 0 || self.workers.tallies().are_full(name))
    }

    /// Available jobs in all queues of a pool. With queues per tenant, only those of the given
    /// queues. A tenant's pool serves that tenant's jobs only.
    fn waiting_in_pool(&self, name: &PoolName, some: impl Iterator<Item = QueueIx>) -> u64 {
        let available = |ix: QueueIx| self.queues.get(ix).count(State::Available);
        if let Some(tenant) = name.owner_name() {
            let Some(tenant) = self.tenants.find(tenant) else { return 0 };
            let shards = some.filter_map(|queue| self.scheduler.shard(queue, tenant));
            return shards.map(|shard| self.shards.get(shard).jobs.count(State::Available)).sum();
        }
        match self.scheduler.pools().get(name).filter(|_| !self.config.queues_per_tenant) {
            Some(pool) => {
                let queues = pool.config().queues.iter();
                queues.filter_map(|name| self.queues.find(name)).map(available).sum()
            }
            None => some.map(available).sum(),
        }
    }
}
