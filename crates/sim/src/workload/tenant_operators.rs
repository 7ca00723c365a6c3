//! Random operator requests about tenants, limits and pools.

use rota_engine::{Now, PutLimit};
use rota_model::{FairnessScope, Feedback, LimitKey, PoolConfig, QueueStrategy, TenantId, Weight};

use super::{Theme, Workload, population};
use crate::request::Request;

impl Workload {
    pub(super) fn change_tenants(&mut self, now: Now) -> Request {
        let tenant = self.anyone();
        let pools = if self.profile.population.pools.is_empty() { 0 } else { 25 };
        let loud = if self.profile.population.theme == Theme::Loud { 15 } else { 0 };
        match self.rng.weighted([25, 4, 10, 14, 30, 8, pools, loud, pools / 8]) {
            0 => {
                let quotas = self.profile.population.quotas;
                Request::PutTenant(tenant, population::tenant_config(&mut self.rng, quotas))
            }
            1 => Request::DeleteTenant(tenant),
            2 => Request::PauseShard(tenant, self.queue()),
            3 => Request::ResumeShard(tenant, self.queue()),
            4 => self.put_limit(now),
            5 => {
                let (key, tenant) = self.some_key();
                Request::ClearLimit(key, tenant)
            }
            6 => self.put_pool(),
            7 => Request::ReleaseTenant(tenant),
            _ => match self.rng.pick(&self.profile.population.pools).cloned() {
                Some(pool) => Request::RemovePool(pool),
                None => Request::Tick,
            },
        }
    }

    fn anyone(&mut self) -> TenantId {
        let tenants = &self.profile.population.tenants;
        self.rng.pick(tenants).cloned().unwrap_or_else(TenantId::default_tenant)
    }

    /// A key of jobs, of the queue as a whole, or of a type.
    fn some_key(&mut self) -> (LimitKey, Option<TenantId>) {
        let of_queue = LimitKey::of_queue(&self.queue());
        match self.rng.weighted([60, 20, 20]) {
            0 => {
                let limit = self.rng.pick(&self.profile.population.limits).cloned();
                let key = limit.map_or(of_queue, |limit| limit.key);
                let tenant = if self.rng.percent(30) { Some(self.anyone()) } else { None };
                (key, tenant)
            }
            1 => (of_queue, None),
            _ => (LimitKey::parse("type:sim.work").expect("the key is valid"), None),
        }
    }

    fn put_limit(&mut self, now: Now) -> Request {
        let (key, tenant) = self.some_key();
        let ahead = self.rng.one_of([500, 5_000, 60_000]);
        let until = now.wall.saturating_add_ms(ahead);
        let mut put = PutLimit {
            key,
            tenant,
            numbers: None,
            feedback: None,
            paused_until: None,
            reason: None,
        };
        match self.rng.weighted([40, 30, 20, 10]) {
            0 => put.numbers = Some((population::numbers(&mut self.rng).into(), None)),
            1 => put.numbers = Some((population::numbers(&mut self.rng).into(), Some(until))),
            2 => put.paused_until = Some(until),
            _ => put.paused_until = Some(now.wall),
        }
        let declares = put.numbers.is_some_and(|(_, expires)| expires.is_none());
        put.feedback = declares.then(|| self.proofs.one_of(Feedback::ALL));
        Request::PutLimit(Box::new(put))
    }

    fn pool_scope(&mut self) -> Option<FairnessScope> {
        let all = [None, Some(FairnessScope::Queue), Some(FairnessScope::Pool)];
        self.scopes.one_of(all).filter(|_| self.profile.pool_scopes)
    }

    pub(super) fn put_pool(&mut self) -> Request {
        let Some(name) = self.rng.pick(&self.profile.population.pools).cloned() else {
            return Request::Tick;
        };
        let mut queues = self.profile.queues.clone();
        if self.rng.percent(30) {
            queues.truncate(1 + self.rng.below(queues.len() as u64) as usize);
        }
        let all = [0.5, 1.0, 2.0, 5.0];
        let weights = queues.iter().map(|queue| {
            let weight = Weight::new(self.rng.one_of(all)).expect("the weight is valid");
            (queue.clone(), weight)
        });
        let weights = weights.collect();
        let starvation =
            population::starvation(&mut self.rng, self.profile.population.theme, queues.len());
        Request::PutPool(
            name,
            Box::new(PoolConfig {
                concurrency: self.rng.one_of([None, None, Some(1), Some(3)]),
                strategy: self.rng.one_of(QueueStrategy::ALL),
                weights,
                isolated: self.rng.percent(20),
                starvation,
                fairness_scope: self.pool_scope(),
                tenants: None,
                fair: false,
                queues,
            }),
        )
    }
}
