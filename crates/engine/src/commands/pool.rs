//! Pools: an operator's hand on them, and what they have to do with a fetch.

use rota_model::mutation::{Kind, Mutation};
use rota_model::{
    PoolConfig, PoolName, QueueName, QueueStrategy, Starvation, State, TenantId, Weight, WorkerId,
};

use crate::pool::PoolRow;
use crate::sched::{Candidate, QueueIx, Rotation};
use crate::{Claimed, Engine, EventKind, Fetch, Refusal, Reply};

/// Which queues a fetch may have, and how they take turns.
pub(crate) struct Plan {
    queues: Vec<(QueueIx, Weight)>,
    strategy: QueueStrategy,
    starvation: Starvation,
    pub pool: Option<PoolName>,
}

impl Plan {
    pub fn queues(&self) -> impl Iterator<Item = QueueIx> {
        self.queues.iter().map(|(ix, _)| *ix)
    }
}

impl Engine {
    pub(crate) fn put_pool(&mut self, name: PoolName, config: PoolConfig) -> Reply {
        let known = self.pools.get(&name).map(|pool| pool.config().clone());
        if known.is_none() && self.pools.len() >= self.config.max_pools {
            return Reply::Refused(Refusal::TooManyPools { limit: self.config.max_pools });
        }
        self.put(Kind::Pool, &name, &PoolRow { config: config.clone() });
        self.pools.put_api(name.clone(), config);
        if known.is_none() {
            // There may have been a pool of this name, whose jobs are still active.
            let ours = self.active.iter().filter(|(_, job)| job.pool.as_ref() == Some(&name));
            let active = ours.count() as u64;
            self.pools.get_mut(&name).expect("the pool was just put").active = active;
        }
        self.tell_rebalanced(&name, known.as_ref());
        self.wake_all();
        let pool = Box::new(self.pool_view(&name).expect("the pool was just put"));
        Reply::Pool { pool, created: known.is_none() }
    }

    pub(crate) fn remove_pool(&mut self, name: &PoolName) -> Reply {
        let Some(pool) = self.pool_view(name) else {
            return Reply::Refused(Refusal::UnknownPool { pool: name.clone() });
        };
        self.out.mutations.push(Mutation::Remove(Kind::Pool, (**name).into()));
        self.pools.remove_api(name);
        self.tell_rebalanced(name, Some(&pool.config));
        self.wake_all();
        Reply::Pool { pool: Box::new(pool), created: false }
    }

    /// Says that a pool serves its queues otherwise than before.
    fn tell_rebalanced(&mut self, name: &PoolName, before: Option<&PoolConfig>) {
        let Some((old, pool)) = before.zip(self.pools.get(name)) else { return };
        let is = pool.config();
        if old.strategy != is.strategy || old.weights != is.weights || old.queues != is.queues {
            let (previous, new) = (Some(old.strategy), is.strategy);
            self.emit(EventKind::PoolRebalanced { pool: name.clone(), previous, new });
        }
    }

    /// The pool that a fetch speaks for: its worker's, or the one that it names.
    pub(crate) fn pool_of(&self, fetch: &Fetch) -> Option<PoolName> {
        let worker = fetch.worker.as_ref().and_then(|id| self.workers.get(id));
        let own = worker.and_then(|worker| worker.row.about.pool.clone());
        own.or_else(|| fetch.pool.clone())
    }

    /// Whether a worker may name this pool: it stays in the one that it named first.
    pub(crate) fn may_join(&self, id: &WorkerId, named: &PoolName) -> Result<(), Refusal> {
        if self.pools.get(named).is_none() {
            return Err(Refusal::UnknownPool { pool: named.clone() });
        }
        let known = self.workers.get(id).and_then(|worker| worker.row.about.pool.as_ref());
        match known.filter(|known| *known != named && self.pools.get(known).is_some()) {
            Some(other) => Err(Refusal::OtherPool { pool: other.clone() }),
            None => Ok(()),
        }
    }

    /// A worker that is known, and may, joins a pool.
    pub(crate) fn join_pool(&mut self, id: &WorkerId, named: &PoolName) {
        let worker = self.workers.get_mut(id).expect("the worker was just met");
        if worker.row.about.pool.as_ref() != Some(named) {
            worker.row.about.pool = Some(named.clone());
            self.write_worker(id);
            self.wake_worker(id);
        }
    }

    /// How this fetch is served; `None` when it has no queue to be served from.
    pub(crate) fn plan(&self, fetch: &Fetch) -> Option<Plan> {
        let pool = self.pool_of(fetch);
        let config = pool.as_ref().and_then(|name| self.pools.get(name)).map(|pool| pool.config());
        let worker = fetch.worker.as_ref().and_then(|id| self.workers.get(id));
        let preferred = fetch.preference.as_ref();
        let preferred = preferred.or_else(|| worker?.row.about.preference.as_ref());
        let (strategy, weights) = match (config, preferred) {
            (Some(config), _) => (config.strategy, Some(&config.weights)),
            (None, Some(own)) => (own.strategy, Some(&own.weights)),
            (None, None) => (QueueStrategy::Strict, None),
        };
        let asked = match config {
            Some(config) if fetch.queues.is_empty() => self.meant_by(&config.queues, fetch),
            _ => fetch.queues.clone(),
        };
        let weight = |name: &QueueName| {
            let own = weights.and_then(|all| all.get(name.local()));
            own.copied().unwrap_or(Weight::ONE)
        };
        let allowed = asked.iter().filter(|name| !self.pools.shuts_out(pool.as_ref(), name));
        let found = allowed.filter_map(|name| Some((self.queues.find(name)?, weight(name))));
        let queues: Vec<(QueueIx, Weight)> = found.collect();
        let starvation = config.and_then(|config| config.starvation);
        (!queues.is_empty()).then(|| Plan {
            queues,
            strategy,
            starvation: starvation.unwrap_or(self.config.starvation),
            pool,
        })
    }

    /// Queues as whoever fetches calls them.
    pub(crate) fn meant_by(&self, names: &[QueueName], fetch: &Fetch) -> Vec<QueueName> {
        match &fetch.tenant {
            Some(tenant) if self.config.queues_per_tenant => {
                names.iter().map(|queue| queue.in_namespace(tenant)).collect()
            }
            _ => names.to_vec(),
        }
    }

    /// These queues have somebody who works for them, or for one tenant's part of them.
    pub(crate) fn note_asked(&mut self, plan: &Plan, only: Option<&TenantId>) {
        let now = Some(self.now.mono);
        let tenant = only.map(|id| self.tenants.find(id));
        for &(ix, _) in &plan.queues {
            if let Some(tenant) = tenant {
                if let Some(shard) = tenant.and_then(|tenant| self.shards.find(ix, tenant)) {
                    self.shards.get_mut(shard).asked_at = now;
                }
                continue;
            }
            let queue = self.queues.get_mut(ix);
            queue.asked_at = now;
            if plan.pool.is_none() {
                queue.asked_outside_pools = now;
            }
        }
        self.tell_overloaded(plan);
    }

    /// One job by the plan, for somebody who has room.
    pub(crate) fn claim_by(&mut self, plan: &Plan, fetch: &Fetch) -> Option<Claimed> {
        let claimed = self.claim_in_turn(plan, fetch);
        if claimed.is_none()
            && let Some(pool) = plan.pool.as_ref().and_then(|name| self.pools.get_mut(name))
        {
            // There is room, and nothing for it.
            pool.told_full = false;
        }
        claimed
    }

    fn claim_in_turn(&mut self, plan: &Plan, fetch: &Fetch) -> Option<Claimed> {
        if let [(ix, _)] = plan.queues[..] {
            return self.claim_next(ix, plan, fetch);
        }
        // The last start may have made way for others: a queue is ready only once they are let in.
        self.settle_gates();
        plan.queues.iter().for_each(|(ix, _)| self.let_first_in(*ix));
        let candidates: Vec<Candidate> =
            plan.queues.iter().map(|one| self.candidate(*one)).collect();
        let (mono, rule) = (self.now.mono, plan.starvation);
        let (order, starved) = self.rotation_of(plan).order(&candidates, plan.strategy, rule, mono);
        for one in starved {
            let queue = self.queues.get_mut(one.queue);
            queue.starved += 1;
            queue.starves = true;
            let (name, available) = (queue.name.clone(), queue.count(State::Available));
            self.emit(EventKind::QueueStarved { queue: name, for_ms: one.for_ms, available });
        }
        for ix in order {
            let Some(claimed) = self.claim_next(ix, plan, fetch) else { continue };
            self.rotation_of(plan).served(&candidates, ix, plan.strategy, rule, mono);
            return Some(claimed);
        }
        None
    }

    /// After a start.
    pub(crate) fn begin_rotations(&mut self) {
        let Self { pools, queues, .. } = self;
        for pool in pools.iter_mut() {
            let known = pool.config().queues.iter().filter_map(|name| queues.find(name));
            pool.rotation = Rotation::after_restart(known);
        }
    }

    /// What is remembered between the decisions of a pool, or of fetches without one that ask for the
    /// same.
    fn rotation_of(&mut self, plan: &Plan) -> &mut Rotation {
        match plan.pool.as_ref().and_then(|name| self.pools.get_mut(name)) {
            Some(pool) => &mut pool.rotation,
            None => self.rotations.get_or_make(signature(&plan.queues, plan.strategy)),
        }
    }

    fn candidate(&self, (queue, weight): (QueueIx, Weight)) -> Candidate {
        let is = self.queues.get(queue);
        let available = is.count(State::Available);
        Candidate { queue, weight, ready: is.is_ready(), available }
    }

    /// A job starts in the pool that is planned for.
    pub(crate) fn enter_pool(&mut self, plan: &Plan) -> Option<PoolName> {
        let name = plan.pool.clone()?;
        let now = self.wall();
        let pool = self.pools.get_mut(&name)?;
        pool.active += 1;
        pool.lately.add(now);
        Some(name)
    }

    pub(crate) fn leave_pool(&mut self, name: &PoolName) {
        let Some(pool) = self.pools.get_mut(name) else { return };
        let was_full = pool.room() == 0;
        pool.active = pool.active.saturating_sub(1);
        if !was_full {
            return;
        }
        self.roomy.push(name.clone());
        let queues = pool.config().queues.clone();
        if self.config.queues_per_tenant {
            let meant = |name: &&QueueName| queues.iter().any(|own| **own == *name.local());
            let awaited: Vec<QueueIx> =
                self.waiters.queues().filter(meant).filter_map(|q| self.queues.find(q)).collect();
            self.awake.extend(awaited);
        } else {
            self.awake.extend(queues.iter().filter_map(|name| self.queues.find(name)));
        }
    }
}

fn signature(queues: &[(QueueIx, Weight)], strategy: QueueStrategy) -> u64 {
    ahash::RandomState::with_seeds(1, 2, 3, 4).hash_one((queues, strategy))
}
