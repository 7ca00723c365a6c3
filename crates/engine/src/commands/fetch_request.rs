//! Translating a fetch into the scheduler's terms: its pool, its queues, and the rotation that
//! orders them.

use std::collections::BTreeSet;

use rota_model::{FairnessScope, PoolConfig, PoolName, QueueName, QueueStrategy, TenantId, Weight};

use crate::journal::SetState;
use crate::queue::QueueIx;
use crate::scheduler::{
    AccountIx, FetchRequest, MOST_SHARED_SETS, RequestedQueues, RotationIx, RotationKey,
    RotationRules,
};
use crate::{Engine, Fetch};

impl Engine {
    /// The pool of a fetch: its worker's pool if it may still use that, otherwise the one that the
    /// fetch names.
    pub(crate) fn pool_of(&self, fetch: &Fetch) -> Option<PoolName> {
        let (pools, tenant) = (self.scheduler.pools(), fetch.tenant.as_ref());
        let worker = fetch.worker.as_ref().and_then(|id| self.workers.get(id));
        let of_worker = worker.and_then(|worker| worker.row.about.pool.as_ref());
        match of_worker.filter(|name| pools.may_use(tenant, name)) {
            Some(pool) => Some(pool.clone()),
            None => pools.resolve(tenant, fetch.pool.as_ref()?),
        }
    }

    /// The fetch as the scheduler sees it; `None` if there is no queue to serve it from.
    pub(crate) fn fetch_request(&mut self, fetch: &Fetch) -> Option<FetchRequest> {
        let only = match &fetch.tenant {
            Some(id) => Some(self.tenants.find(id)?),
            None => None,
        };
        let charge = only.is_none()
            || self.config.fairness.charge_own_workers
            || self.config.queues_per_tenant;
        let pool = self.pool_of(fetch);
        let (queues, rotation, account) = match &pool {
            Some(name) => self.queues_in_pool(name, fetch, charge)?,
            None => self.queues_by_name(fetch, charge)?,
        };
        Some(FetchRequest { queues, only, pool, rotation, account, charge })
    }

    fn queues_in_pool(
        &mut self,
        name: &PoolName,
        fetch: &Fetch,
        charge: bool,
    ) -> Option<(RequestedQueues, Option<RotationIx>, Option<AccountIx>)> {
        let (rotation, account) = match self.own_worker_tenant(fetch) {
            None => self.rotation_of_pool(name, fetch.tenant.as_ref())?,
            Some(tenant) => {
                let account = match name.owner_name() {
                    None => self.rotation_of_pool(name, None)?.1,
                    Some(_) => self.account_of_tenants_pool(name, charge),
                };
                (self.own_rotation_of_pool(name, tenant)?, account)
            }
        };
        let queues = match fetch.queues.is_empty() {
            true => RequestedQueues::All,
            false => RequestedQueues::Some(self.find_queues(&fetch.queues, Some(name))),
        };
        if matches!(&queues, RequestedQueues::Some(some) if some.is_empty()) {
            return None;
        }
        Some((queues, Some(rotation), account))
    }

    /// The rotation of a pool. With queues per tenant, each tenant has its own.
    pub(super) fn rotation_of_pool(
        &mut self,
        name: &PoolName,
        tenant: Option<&TenantId>,
    ) -> Option<(RotationIx, Option<AccountIx>)> {
        let tenant = tenant.filter(|_| self.config.queues_per_tenant);
        let key = RotationKey::Pool(name.clone(), tenant.cloned());
        let version = self.scheduler.pools().version(name, tenant)?;
        if let Some(rotation) = self.scheduler.rotation(&key, version) {
            return Some(rotation);
        }
        let config = self.scheduler.pools().get(name)?.config().clone();
        let rules = self.rules_of_pool(name, &config, tenant);
        let queues = &self.queues;
        Some(self.scheduler.put_rotation(key, version, &rules, |name| queues.find(name)))
    }

    /// The account that fetches of a tenant's own pool are charged to, where queues are shared: that of
    /// a fetch without a pool for the same queues. So a pool of its own makes no difference to a
    /// tenant's share.
    fn account_of_tenants_pool(&mut self, name: &PoolName, charge: bool) -> Option<AccountIx> {
        if !charge || !self.is_shared(None) {
            return None;
        }
        let config = self.scheduler.pools().get(name)?.config().clone();
        let queues = self.rules_of_pool(name, &config, None).queues;
        match queues.len() {
            0 | 1 => None,
            _ => self.rotation_of_set(queues, config.strategy, None).1,
        }
    }

    /// The tenant if the fetch comes from a tenant's own worker. Such fetches use rotations of
    /// their own, so they do not advance those of shared workers. With queues per tenant, rotations
    /// are per tenant anyway.
    fn own_worker_tenant<'a>(&self, fetch: &'a Fetch) -> Option<&'a TenantId> {
        fetch.tenant.as_ref().filter(|_| !self.config.queues_per_tenant)
    }

    /// The rotation of a pool for one tenant's own workers.
    fn own_rotation_of_pool(&mut self, name: &PoolName, tenant: &TenantId) -> Option<RotationIx> {
        let pool = self.scheduler.pools().get(name)?;
        let (version, strategy) = (pool.version, pool.config().strategy);
        let key = RotationKey::Set(self.signature(&[], strategy, Some((tenant, Some(name)))));
        if let Some((rotation, _)) = self.scheduler.rotation(&key, version) {
            return Some(rotation);
        }
        let config = self.scheduler.pools().get(name)?.config().clone();
        let mut rules = self.rules_of_pool(name, &config, None);
        (rules.shared, rules.for_tenant) = (false, true);
        let queues = &self.queues;
        let made = self.scheduler.put_rotation(key, version, &rules, |name| queues.find(name));
        Some(made.0)
    }

    /// Whether tenants are charged across queues (pool scope). `scope` is the pool's own setting;
    /// without it, the server's applies.
    pub(super) fn is_shared(&self, scope: Option<FairnessScope>) -> bool {
        let fairness = &self.config.fairness;
        fairness.enabled && scope.unwrap_or(fairness.scope) == FairnessScope::Pool
    }

    /// Creates the accounts of the operator's pools in pool scope. They must exist before the first fetch,
    /// because shares are computed from them and tags are restored into them.
    pub(crate) fn make_pool_accounts(&mut self) {
        if self.config.queues_per_tenant {
            return;
        }
        let pools = self.scheduler.pools().of_operator_after("");
        let shared = pools.filter(|(_, pool)| self.is_shared(pool.config().fairness_scope));
        let shared: Vec<PoolName> = shared.map(|(name, _)| name.clone()).collect();
        for name in shared {
            self.rotation_of_pool(&name, None);
        }
    }

    /// After a restart: recreates sets of queues that had accounts, most recently used first, up to
    /// the maximum. Also restores which account each queue was last charged to.
    pub(crate) fn restore_sets(&mut self) {
        let rotations = self.journal.rotations_by_age();
        if !self.config.queues_per_tenant && self.is_shared(None) {
            let sets =
                rotations.iter().rev().filter_map(|(key, state)| Some((key, state.set.as_ref()?)));
            for (key, set) in sets.take(MOST_SHARED_SETS) {
                self.restore_set(key, set);
            }
        }
        for (key, state) in &rotations {
            let queues = state.tags.keys().filter_map(|name| self.queues.find_existing(name));
            self.scheduler.restore_charged(key, queues);
        }
    }

    /// Skipped if a fetch for these queues would now map to a different set.
    fn restore_set(&mut self, key: &RotationKey, set: &SetState) {
        let names: Vec<QueueName> = set.queues.iter().map(|(name, _)| name.clone()).collect();
        let weights = set.queues.iter().map(|(_, weight)| *weight);
        let queues = self.find_queues(&names, None);
        let complete = queues.len() == names.len();
        let queues: Vec<_> = queues.into_iter().zip(weights).collect();
        if complete && *key == RotationKey::Set(self.signature(&queues, set.strategy, None)) {
            let rules = self.rules_of_set(queues, set.strategy, false);
            let all_queues = &self.queues;
            self.scheduler.put_rotation(key.clone(), 0, &rules, |name| all_queues.find(name));
        }
    }

    fn rules_of_set(
        &self,
        queues: Vec<(QueueIx, Weight)>,
        strategy: QueueStrategy,
        for_tenant: bool,
    ) -> RotationRules {
        RotationRules {
            named: queues.len(),
            queues,
            strategy,
            starvation: self.config.starvation,
            shared: !for_tenant && self.is_shared(None),
            for_tenant,
        }
    }

    fn rules_of_pool(
        &self,
        name: &PoolName,
        config: &PoolConfig,
        tenant: Option<&TenantId>,
    ) -> RotationRules {
        let names = config.queues.iter().map(|queue| match tenant {
            Some(tenant) => queue.in_namespace(tenant),
            None => queue.clone(),
        });
        let names: Vec<QueueName> = names.collect();
        let weight = |queue: QueueIx| {
            let weight = config.weights.get(self.queues.get(queue).name.local());
            weight.copied().unwrap_or(Weight::ONE)
        };
        let queues = self.find_queues(&names, Some(name));
        RotationRules {
            queues: queues.into_iter().map(|queue| (queue, weight(queue))).collect(),
            strategy: config.strategy,
            starvation: config.starvation.unwrap_or(self.config.starvation),
            // A queue's guaranteed part depends on all queues of the pool, existing or not.
            named: config.queues.len(),
            shared: self.is_shared(config.fairness_scope),
            for_tenant: false,
        }
    }

    /// Existing queues among `names` that may be served to this pool (or to fetches without one),
    /// without duplicates.
    fn find_queues(&self, names: &[QueueName], pool: Option<&PoolName>) -> Vec<QueueIx> {
        let allowed = names.iter().filter(|name| self.scheduler.pools().may_serve(pool, name));
        let mut found = BTreeSet::new();
        let queues = allowed.filter_map(|name| self.queues.find_existing(name));
        queues.filter(|queue| found.insert(*queue)).collect()
    }

    /// The queues of a fetch without a pool, and their rotation.
    fn queues_by_name(
        &mut self,
        fetch: &Fetch,
        charge: bool,
    ) -> Option<(RequestedQueues, Option<RotationIx>, Option<AccountIx>)> {
        let queues = self.find_queues(&fetch.queues, None);
        if queues.len() < 2 {
            return queues.first().map(|queue| (RequestedQueues::Some(vec![*queue]), None, None));
        }
        let worker = fetch.worker.as_ref().and_then(|id| self.workers.get(id));
        let preferred = fetch.preference.as_ref();
        let preferred = preferred.or_else(|| worker?.row.about.preference.as_ref());
        let strategy = preferred.map_or(QueueStrategy::Strict, |preference| preference.strategy);
        let weight = |queue: QueueIx| {
            let name = self.queues.get(queue).name.local();
            preferred
                .and_then(|preference| preference.weights.get(name).copied())
                .unwrap_or(Weight::ONE)
        };
        let queues: Vec<_> = queues.into_iter().map(|queue| (queue, weight(queue))).collect();
        let Some(tenant) = self.own_worker_tenant(fetch) else {
            let (rotation, account) = self.rotation_of_set(queues, strategy, None);
            return Some((RequestedQueues::All, Some(rotation), account));
        };
        let mut account = None;
        if charge && self.is_shared(None) {
            account = self.rotation_of_set(queues.clone(), strategy, None).1;
        }
        let (rotation, _) = self.rotation_of_set(queues, strategy, Some(tenant));
        Some((RequestedQueues::All, Some(rotation), account))
    }

    /// The rotation of a set of queues, for shared workers or for one tenant's own workers.
    fn rotation_of_set(
        &mut self,
        queues: Vec<(QueueIx, Weight)>,
        strategy: QueueStrategy,
        owner: Option<&TenantId>,
    ) -> (RotationIx, Option<AccountIx>) {
        let signature = self.signature(&queues, strategy, owner.map(|tenant| (tenant, None)));
        let key = RotationKey::Set(signature);
        let rotation = self.scheduler.rotation(&key, 0);
        rotation.unwrap_or_else(|| {
            let rules = self.rules_of_set(queues, strategy, owner.is_some());
            let all_queues = &self.queues;
            self.scheduler.put_rotation(key, 0, &rules, |name| all_queues.find(name))
        })
    }

    /// Identifies a set by its queues, weights and strategy, and by tenant and pool for a tenant's
    /// own workers. Stable across restarts (FNV-1a).
    fn signature(
        &self,
        queues: &[(QueueIx, Weight)],
        strategy: QueueStrategy,
        owner: Option<(&TenantId, Option<&PoolName>)>,
    ) -> u64 {
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        let mut add = |bytes: &[u8]| {
            for byte in bytes.iter().chain(&[0]) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
            }
        };
        add(strategy.as_str().as_bytes());
        if let Some((tenant, pool)) = owner {
            add(b"own");
            add(tenant.as_bytes());
            pool.into_iter().for_each(|pool| add(pool.as_bytes()));
        }
        for (queue, weight) in queues {
            add(self.queues.get(*queue).name.as_bytes());
            add(&weight.hundredths().to_le_bytes());
        }
        hash
    }

    /// Adds the caller's namespace to queue names, if each tenant has its own queues.
    pub(crate) fn resolve_queue_names(&self, names: &[QueueName], fetch: &Fetch) -> Vec<QueueName> {
        match &fetch.tenant {
            Some(tenant) if self.config.queues_per_tenant => {
                names.iter().map(|queue| queue.in_namespace(tenant)).collect()
            }
            _ => names.to_vec(),
        }
    }

    /// The queue strategy that applies to a fetch: its pool's, its own, or its worker's.
    pub(crate) fn strategy_of(&self, fetch: &Fetch) -> QueueStrategy {
        let pool = self.pool_of(fetch);
        if let Some(pool) = pool.and_then(|name| self.scheduler.pools().get(&name)) {
            return pool.config().strategy;
        }
        let worker = fetch.worker.as_ref().and_then(|id| self.workers.get(id));
        let preferred = fetch.preference.as_ref();
        let preferred = preferred.or_else(|| worker?.row.about.preference.as_ref());
        preferred.map_or(QueueStrategy::Strict, |preference| preference.strategy)
    }
}
