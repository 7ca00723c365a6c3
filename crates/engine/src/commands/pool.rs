//! Creating, changing and deleting pools, and which pool a worker belongs to.

use rota_model::mutation::{Mutation, RowKind};
use rota_model::{PoolConfig, PoolName, TenantId, WorkerId};

use crate::scheduler::{PoolChange, PoolRow, Reconfigured};
use crate::{ConfigOrigin, Engine, EventKind, Refusal, Reply};

impl Engine {
    /// Creates or changes a pool; the name says whose it is.
    pub(crate) fn put_pool(&mut self, name: PoolName, config: PoolConfig) -> Reply {
        let before = self.scheduler.pools().get(&name).map(|pool| pool.config().clone());
        let owner = name.owner();
        if before.is_none()
            && let Err(refusal) = self.may_create_pool(&name, owner.as_ref())
        {
            return Reply::Refused(refusal);
        }
        if let Some(tenant) = &owner {
            self.ensure_tenant(tenant);
        }
        self.put(RowKind::Pool, &name, &PoolRow { config: config.clone() });
        let change = PoolChange { origin: ConfigOrigin::Api, config: Some(config) };
        self.scheduler.reconfigured(Reconfigured::Pool(name.clone(), change));
        if owner.is_none() {
            self.make_pool_accounts();
        }
        self.scope_changed(&name, before.as_ref());
        self.emit_pool_rebalanced(&name, before.as_ref());
        self.refuse_lost_queues(&name);
        self.pools_changed(owner.as_ref());
        let pool = Box::new(self.pool_view(&name).expect("the pool was just put"));
        Reply::Pool { pool, created: before.is_none() }
    }

    /// A tenant cannot create a pool of a name that the operator's pool has, if it may use that one.
    fn may_create_pool(&self, name: &PoolName, owner: Option<&TenantId>) -> Result<(), Refusal> {
        let pools = self.scheduler.pools();
        if let Some(open) = owner.and_then(|owner| pools.resolve(Some(owner), name)) {
            return Err(Refusal::OperatorsPool { pool: open });
        }
        self.check_tenant(owner)?;
        Ok(pools.check_cap(self.asker(owner))?)
    }

    pub(crate) fn remove_pool(&mut self, name: &PoolName) -> Reply {
        let Some(pool) = self.pool_view(name) else {
            return Reply::Refused(Refusal::UnknownPool { pool: name.clone() });
        };
        self.out.mutations.push(Mutation::Remove(RowKind::Pool, (**name).into()));
        let change = PoolChange { origin: ConfigOrigin::Api, config: None };
        self.scheduler.reconfigured(Reconfigured::Pool(name.clone(), change));
        if self.scheduler.pools().get(name).is_none() {
            self.forget_rotations(name);
            self.pool_watch.forget(name);
        }
        self.emit_pool_rebalanced(name, Some(&pool.config));
        self.refuse_lost_queues(name);
        self.pools_changed(name.owner().as_ref());
        Reply::Pool { pool: Box::new(pool), created: false }
    }

    /// A tenant is deleted, and its pools with it.
    pub(crate) fn remove_pools_of(&mut self, tenant: &TenantId) {
        let own = self.scheduler.pools().of_tenant_after(tenant, "");
        let names: Vec<PoolName> = own.map(|(name, _)| name.clone()).collect();
        for name in names {
            self.remove_pool(&name);
        }
    }

    /// Indexes again the waiting fetches that a change of pools concerns: those of the tenant whose
    /// pool it is, or all.
    fn pools_changed(&mut self, owner: Option<&TenantId>) {
        match owner {
            Some(_) => self.reindex_fetches(owner),
            None => self.wake_all(),
        }
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

    /// The pool that a worker joins if it names this one. It stays in its first pool while it may use
    /// that. Pools that it may not use do not exist for it.
    pub(crate) fn pool_to_join(
        &self,
        id: &WorkerId,
        tenant: Option<&TenantId>,
        named: &PoolName,
    ) -> Result<PoolName, Refusal> {
        let pools = self.scheduler.pools();
        let Some(pool) = pools.resolve(tenant, named) else {
            return Err(Refusal::UnknownPool { pool: named.clone() });
        };
        let current = self.workers.get(id).and_then(|worker| worker.row.about.pool.as_ref());
        match current.filter(|current| **current != pool && pools.may_use(tenant, current)) {
            Some(other) => Err(Refusal::OtherPool { pool: other.clone() }),
            None => Ok(pool),
        }
    }

    /// Adds a worker to a pool, which comes from [`Self::pool_to_join`]. The worker must exist.
    pub(crate) fn join_pool(&mut self, id: &WorkerId, pool: &PoolName) {
        let worker = self.workers.get_mut(id).expect("the worker was just added");
        if worker.row.about.pool.as_ref() != Some(pool) {
            worker.row.about.pool = Some(pool.clone());
            self.write_worker(id);
            self.reindex_fetches_of(id);
        }
    }
}
