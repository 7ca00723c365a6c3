//! Creating, changing and deleting pools, and which pool a worker belongs to.

use rota_model::mutation::{Mutation, RowKind};
use rota_model::{PoolConfig, PoolName, WorkerId};

use crate::caps::InUse;
use crate::scheduler::{PoolChange, PoolRow, Reconfigured};
use crate::{Capped, ConfigOrigin, Engine, EventKind, Refusal, Reply};

impl Engine {
    pub(crate) fn put_pool(&mut self, name: PoolName, config: PoolConfig) -> Reply {
        let before = self.scheduler.pools().get(&name).map(|pool| pool.config().clone());
        let used = InUse { own: 0, all: self.scheduler.pools().len() };
        // Only operators create pools.
        let checked = used.check(self.config.caps.pools, Capped::Pools, self.asker(None), 1);
        if let (None, Err(reached)) = (&before, checked) {
            return Reply::Refused(reached.into());
        }
        self.put(RowKind::Pool, &name, &PoolRow { config: config.clone() });
        // Jobs of a deleted pool of the same name may still be active.
        let jobs = self.active.iter().filter(|_| before.is_none());
        let active = jobs.filter(|(_, job)| job.pool.as_ref() == Some(&name)).count() as u64;
        let change = PoolChange { origin: ConfigOrigin::Api, config: Some(config), active };
        self.scheduler.reconfigured(Reconfigured::Pool(name.clone(), change));
        self.make_pool_accounts();
        self.scope_changed(&name, before.as_ref());
        self.emit_pool_rebalanced(&name, before.as_ref());
        self.refuse_lost_queues(&name);
        self.wake_all();
        let pool = Box::new(self.pool_view(&name).expect("the pool was just put"));
        Reply::Pool { pool, created: before.is_none() }
    }

    pub(crate) fn remove_pool(&mut self, name: &PoolName) -> Reply {
        let Some(pool) = self.pool_view(name) else {
            return Reply::Refused(Refusal::UnknownPool { pool: name.clone() });
        };
        self.out.mutations.push(Mutation::Remove(RowKind::Pool, (**name).into()));
        let change = PoolChange { origin: ConfigOrigin::Api, config: None, active: 0 };
        self.scheduler.reconfigured(Reconfigured::Pool(name.clone(), change));
        if self.scheduler.pools().get(name).is_none() {
            self.forget_rotations(name);
            self.pool_watch.forget(name);
        }
        self.emit_pool_rebalanced(name, Some(&pool.config));
        self.refuse_lost_queues(name);
        self.wake_all();
        Reply::Pool { pool: Box::new(pool), created: false }
    }

    /// Shares are shown by the new scope of a pool from now on, if it has another one than before.
    fn scope_changed(&mut self, name: &PoolName, before: Option<&PoolConfig>) {
        let Some((old, pool)) = before.zip(self.scheduler.pools().get(name)) else { return };
        if self.is_shared(old.fairness_scope) != self.is_shared(pool.config().fairness_scope) {
            let queues = pool.config().queues.iter();
            let queues: Vec<_> = queues.filter_map(|queue| self.queues.find(queue)).collect();
            if !self.config.queues_per_tenant {
                // Closes the account that it no longer has.
                self.rotation_of_pool(name, None);
            }
            self.scheduler.forget_last_accounts(&queues);
            self.count_charges_anew();
        }
    }

    /// Emits an event if a pool's strategy, weights or queues have changed.
    fn emit_pool_rebalanced(&mut self, name: &PoolName, before: Option<&PoolConfig>) {
        let Some((old, pool)) = before.zip(self.scheduler.pools().get(name)) else { return };
        let new_config = pool.config();
        if old.strategy != new_config.strategy
            || old.weights != new_config.weights
            || old.queues != new_config.queues
        {
            let (previous, new) = (Some(old.strategy), new_config.strategy);
            self.emit(EventKind::PoolRebalanced { pool: name.clone(), previous, new });
        }
    }

    /// Whether a worker may be in this pool. It stays in its first pool while that exists.
    pub(crate) fn may_join(&self, id: &WorkerId, named: &PoolName) -> Result<(), Refusal> {
        let pools = self.scheduler.pools();
        if pools.get(named).is_none() {
            return Err(Refusal::UnknownPool { pool: named.clone() });
        }
        let current = self.workers.get(id).and_then(|worker| worker.row.about.pool.as_ref());
        match current.filter(|current| *current != named && pools.get(current).is_some()) {
            Some(other) => Err(Refusal::OtherPool { pool: other.clone() }),
            None => Ok(()),
        }
    }

    /// Adds a worker to a pool. The worker must exist and pass [`Self::may_join`].
    pub(crate) fn join_pool(&mut self, id: &WorkerId, named: &PoolName) {
        let worker = self.workers.get_mut(id).expect("the worker was just added");
        if worker.row.about.pool.as_ref() != Some(named) {
            worker.row.about.pool = Some(named.clone());
            self.write_worker(id);
            self.reindex_fetches_of(id);
        }
    }
}
