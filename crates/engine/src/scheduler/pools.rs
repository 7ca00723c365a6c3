//! All pools, who may use them, and which queues they reserve.
//!
//! A pool belongs to a tenant or to the operator. The engine's name of a tenant's pool contains the
//! tenant, so tenants' names never collide. A tenant may use its own pools, and those of the operator
//! that are open to it; all others are unknown to it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use rota_model::{Cap, PoolName, PoolTenants, QueueName, TenantId};

use super::pool::{Pool, PoolChange, Slots};
use super::pool_index::PoolIndex;
use crate::tenant::TenantIx;
use crate::{Asker, CapCounter, CapReached, Capped, ConfigOrigin};

/// All pools.
pub(crate) struct Pools {
    owned: CapCounter,
    all: BTreeMap<PoolName, Pool>,
    of_operator: BTreeSet<PoolName>,
    by_queue: PoolIndex,
    /// The same for isolated pools.
    isolated: PoolIndex,
    /// The operator's pools that are open to all tenants, and to single ones.
    open_to_all: BTreeSet<PoolName>,
    open_to: BTreeMap<TenantId, BTreeSet<PoolName>>,
    /// Whether an operator's pool that names no tenants is open to all, rather than to none.
    open_by_default: bool,
    /// Active jobs of deleted pools, which count again if a pool of that name is created.
    left_over: BTreeMap<PoolName, Slots>,
    /// The last version given to a pool.
    versions: u64,
    /// Tenants with isolated pools of their own, and the version in which these last changed.
    isolating: BTreeMap<TenantId, u64>,
}

impl Pools {
    pub fn new(cap: Cap, open_by_default: bool) -> Self {
        Self {
            owned: CapCounter::new(Capped::Pools, cap),
            all: BTreeMap::new(),
            of_operator: BTreeSet::new(),
            by_queue: PoolIndex::default(),
            isolated: PoolIndex::default(),
            open_to_all: BTreeSet::new(),
            open_to: BTreeMap::new(),
            open_by_default,
            left_over: BTreeMap::new(),
            versions: 0,
            isolating: BTreeMap::new(),
        }
    }

    /// A pool, by the engine's name.
    pub fn get(&self, name: &str) -> Option<&Pool> {
        self.all.get(name)
    }

    /// A pool that gives its slots to tenants by weight.
    pub fn fair(&self, name: &PoolName) -> Option<&Pool> {
        self.all.get(name).filter(|pool| pool.config().fair)
    }

    /// Whether one more pool may be created.
    pub fn check_cap(&self, asker: Asker<'_>) -> Result<(), CapReached> {
        self.owned.check(asker)
    }

    /// The engine's name of the pool that a caller means: its own, or the operator's if that is open to
    /// it. `None` for the tenant is an operator, who means the operator's.
    pub fn resolve(&self, tenant: Option<&TenantId>, name: &PoolName) -> Option<PoolName> {
        let Some(tenant) = tenant else {
            return self.all.get_key_value(name.local()).map(|(name, _)| name.clone());
        };
        let local = PoolName::stored(name.local()).ok()?;
        let own = local.of_tenant(tenant);
        if self.all.contains_key(&own) {
            return Some(own);
        }
        self.is_open_to(&local, tenant).then_some(local)
    }

    /// Whether a caller may use a pool, by the engine's name. A tenant's own pool hides the operator's
    /// of the same name.
    pub fn may_use(&self, tenant: Option<&TenantId>, name: &PoolName) -> bool {
        self.resolve(tenant, name).as_ref() == Some(name)
    }

    /// Whether the operator has a pool of this name that is open to a tenant.
    pub fn is_open_to(&self, name: &PoolName, tenant: &str) -> bool {
        self.open_to_all.contains(name)
            || self.open_to.get(tenant).is_some_and(|open| open.contains(name))
    }

    /// The tenants that an operator's pool is open to; `None` for a tenant's pool.
    pub fn tenants_of(&self, name: &PoolName) -> Option<PoolTenants> {
        let pool = self.all.get(name).filter(|_| name.owner_name().is_none())?;
        let default = if self.open_by_default { PoolTenants::ALL } else { PoolTenants::nobody() };
        Some(pool.config().tenants.clone().unwrap_or(default))
    }

    /// Creates or changes a pool, or removes it if no configuration is left.
    pub fn put(&mut self, name: PoolName, change: PoolChange) {
        let existed = self.all.contains_key(&name);
        let did_isolate = self.unindex(&name);
        if !existed {
            let slots = self.left_over.remove(&name).unwrap_or_default();
            self.all.insert(name.clone(), Pool::new(slots));
            self.owned.add(name.owner().as_ref());
        }
        self.versions += 1;
        let pool = self.all.get_mut(&name).expect("the pool was just added");
        pool.version = self.versions;
        match change.origin {
            ConfigOrigin::File => pool.file = change.config,
            _ => pool.api = change.config,
        }
        if pool.file.is_none() && pool.api.is_none() {
            let removed = self.all.remove(&name).map(|pool| pool.slots);
            if let Some(slots) = removed.filter(|slots| slots.active > 0) {
                self.left_over.insert(name.clone(), slots);
            }
            self.owned.remove(name.owner().as_ref());
        }
        if self.index(&name) || did_isolate {
            self.isolation_changed(&name);
        }
    }

    /// Takes a pool out of the indexes. Returns whether it was isolated.
    fn unindex(&mut self, name: &PoolName) -> bool {
        let Some(tenants) = self.all.get(name).map(|_| self.tenants_of(name)) else { return false };
        let config = self.all[name].config();
        self.by_queue.remove(&config.queues, name);
        self.of_operator.remove(name);
        match tenants {
            None => {}
            Some(PoolTenants::All(_)) => {
                self.open_to_all.remove(name);
            }
            Some(PoolTenants::Listed(listed)) => {
                for tenant in &listed {
                    let Some(open) = self.open_to.get_mut(tenant) else { continue };
                    open.remove(name);
                    if open.is_empty() {
                        self.open_to.remove(tenant);
                    }
                }
            }
        }
        if config.isolated {
            self.isolated.remove(&config.queues, name);
        }
        config.isolated
    }

    /// Puts a pool into the indexes, if it exists. Returns whether it is isolated.
    fn index(&mut self, name: &PoolName) -> bool {
        let tenants = self.tenants_of(name);
        let Some(pool) = self.all.get(name) else { return false };
        let config = pool.config();
        self.by_queue.insert(&config.queues, name);
        if tenants.is_some() {
            self.of_operator.insert(name.clone());
        }
        match tenants {
            None => {}
            Some(PoolTenants::All(_)) => {
                self.open_to_all.insert(name.clone());
            }
            Some(PoolTenants::Listed(listed)) => {
                for tenant in listed {
                    self.open_to.entry(tenant).or_default().insert(name.clone());
                }
            }
        }
        if config.isolated {
            self.isolated.insert(&config.queues, name);
        }
        config.isolated
    }

    /// What an isolated pool reserves may have changed: rotations that this concerns are out of date.
    fn isolation_changed(&mut self, name: &PoolName) {
        let Some(tenant) = name.owner() else {
            for pool in self.all.values_mut() {
                self.versions += 1;
                pool.version = self.versions;
            }
            return;
        };
        self.versions += 1;
        let isolates = self.of_tenant_after(&tenant, "").any(|(_, pool)| pool.config().isolated);
        if isolates {
            self.isolating.insert(tenant, self.versions);
        } else {
            self.isolating.remove(&tenant);
        }
    }

    /// The version of a pool, as far as it concerns a tenant that has queues of its own.
    pub fn version(&self, name: &PoolName, tenant: Option<&TenantId>) -> Option<u64> {
        let isolating = tenant.and_then(|tenant| self.isolating.get(tenant));
        Some(self.all.get(name)?.version.max(isolating.copied().unwrap_or(0)))
    }

    /// A new queue may be one that pools name.
    pub fn queue_created(&mut self, name: &QueueName) {
        let of_operator = self.by_queue.of_operator(name.local());
        let mut serving: Vec<PoolName> = of_operator.cloned().collect();
        match name.namespace() {
            Some(tenant) => serving.extend(self.by_queue.of_tenant(name.local(), tenant).cloned()),
            None => serving.extend(self.by_queue.of_tenants(name).cloned()),
        }
        for pool in serving {
            self.versions += 1;
            self.all.get_mut(&pool).expect("an indexed pool exists").version = self.versions;
        }
    }

    /// Whether fetches of this pool, or without a pool, may have more jobs.
    pub fn has_room(&self, pool: Option<&PoolName>) -> bool {
        pool.and_then(|name| self.all.get(name)).is_none_or(|pool| pool.room() > 0)
    }

    pub fn started(&mut self, name: &PoolName, tenant: TenantIx) {
        match self.all.get_mut(name) {
            Some(pool) => pool.slots.add(tenant),
            None => self.left_over.entry(name.clone()).or_default().add(tenant),
        }
    }

    /// A tenant's job of a pool ended. Returns whether the pool was full and has room now.
    pub fn ended(&mut self, name: &PoolName, tenant: TenantIx) -> bool {
        let Some(pool) = self.all.get_mut(name) else {
            if let Some(slots) = self.left_over.get_mut(name) {
                slots.remove(tenant);
                if slots.active == 0 {
                    self.left_over.remove(name);
                }
            }
            return false;
        };
        let was_full = pool.room() == 0;
        pool.slots.remove(tenant);
        was_full && pool.room() > 0
    }

    /// Whether a tenant has pools of its own.
    pub fn any_owned_by(&self, tenant: &TenantId) -> bool {
        self.owned.of(tenant) > 0
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The operator's pools after this name, in order.
    pub fn of_operator_after(&self, name: &str) -> impl Iterator<Item = (&PoolName, &Pool)> {
        let behind = (Bound::Excluded(name), Bound::Unbounded);
        self.of_operator.range::<str, _>(behind).map(|name| (name, &self.all[name]))
    }

    /// Pools after this name, in order.
    pub fn after(&self, name: &str) -> impl Iterator<Item = (&PoolName, &Pool)> {
        self.all.range::<str, _>((Bound::Excluded(name), Bound::Unbounded))
    }

    /// A tenant's own pools after this name, in order. `local` is a name without the owner.
    pub fn of_tenant_after(
        &self,
        tenant: &TenantId,
        local: &str,
    ) -> impl Iterator<Item = (&PoolName, &Pool)> + use<'_> {
        let prefix = format!("{tenant} ");
        let behind = format!("{prefix}{local}");
        let pools = self.all.range::<str, _>((Bound::Excluded(&*behind), Bound::Unbounded));
        pools.take_while(move |(name, _)| name.starts_with(&prefix))
    }

    /// The first pool after this name that a tenant may use. `local` is a name without the owner.
    pub fn next_usable(&self, tenant: &TenantId, local: &str) -> Option<(&PoolName, &Pool)> {
        let behind = (Bound::Excluded(local), Bound::Unbounded);
        let own = self.of_tenant_after(tenant, local).map(|(name, _)| name).next();
        let open_to_all = self.open_to_all.range::<str, _>(behind).next();
        let open = self.open_to.get(tenant).and_then(|open| open.range::<str, _>(behind).next());
        // Of equal names, the first counts: the tenant's own.
        let candidates = [own, open_to_all, open].into_iter().flatten();
        let name = candidates.min_by_key(|name| name.local())?;
        Some((name, &self.all[name]))
    }

    /// How many pools a tenant may use. Visits the tenant's own.
    pub fn count_usable(&self, tenant: &TenantId) -> usize {
        let own = self.of_tenant_after(tenant, "");
        let hides = |(name, _): &(&PoolName, &Pool)| {
            PoolName::stored(name.local()).is_ok_and(|name| self.is_open_to(&name, tenant))
        };
        let open = self.open_to_all.len() + self.open_to.get(tenant).map_or(0, BTreeSet::len);
        self.owned.of(tenant) + open - own.filter(hides).count()
    }

    /// Pools whose workers may serve a tenant's jobs in a queue: the operator's, and the tenant's own.
    /// Where each tenant has queues of its own, the operator's must be open to it.
    pub fn serving(
        &self,
        queue: &QueueName,
        tenant: &TenantId,
    ) -> impl Iterator<Item = (&PoolName, &Pool)> {
        let namespace = queue.namespace().map(ToOwned::to_owned);
        let serves = move |name: &&PoolName| {
            namespace.as_deref().is_none_or(|tenant| self.is_open_to(name, tenant))
        };
        let of_operator = self.by_queue.of_operator(queue.local()).filter(serves);
        let own = self.by_queue.of_tenant(queue.local(), tenant);
        of_operator.chain(own).map(|name| (name, &self.all[name]))
    }

    /// Whether fetches of this pool, or without a pool, may be served from a queue.
    pub fn may_serve(&self, pool: Option<&PoolName>, queue: &QueueName) -> bool {
        let is_in_pool =
            pool.and_then(|name| self.all.get(name)).is_none_or(|pool| pool.has(queue));
        is_in_pool && !self.shuts_out(pool, queue)
    }

    /// Whether a queue is reserved for other pools. A shared queue is reserved by the operator's
    /// isolated pools, a tenant's queue by those that the tenant may use.
    pub fn shuts_out(&self, pool: Option<&PoolName>, queue: &QueueName) -> bool {
        if self.isolated.is_empty() {
            return false;
        }
        let namespace = queue.namespace();
        let of_operator = self.isolated.of_operator(queue.local());
        let of_operator =
            of_operator.filter(|name| namespace.is_none_or(|tenant| self.is_open_to(name, tenant)));
        let own = namespace.map(|tenant| self.isolated.of_tenant(queue.local(), tenant));
        let mut reserving = of_operator.chain(own.into_iter().flatten()).peekable();
        reserving.peek().is_some() && !reserving.any(|name| Some(name) == pool)
    }
}
