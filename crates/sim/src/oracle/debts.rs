//! Tracks how many dispatches each queue is owed by its guaranteed part.
//!
//! This depends on when the queue had a job that could start, which is not always certain from outside. So
//! there are two numbers: the least and the most that a queue can be owed.

use std::collections::{BTreeMap, BTreeSet};

use rota_engine::Fetch;
use rota_model::{Class, PoolName, QueueName};

use super::violation::{Check, Rule, ensure};
use super::world::World;

/// A dispatch, in millionths.
const ONE: u64 = 1_000_000;
/// What a queue that few fetches name may be served early.
const HEAD_START: u64 = ONE / 2;

#[derive(Clone, Default)]
pub struct Debts {
    /// By pool, or for fetches without one.
    all: BTreeMap<(Option<PoolName>, QueueName), Debt>,
    /// Queues that fetches without a pool have tied together, each in one of these.
    ties: Vec<BTreeSet<QueueName>>,
    /// Pools of whose queues some fetch named only a part. In others, all fetches can serve the same
    /// queues.
    partial: BTreeSet<PoolName>,
}

#[derive(Clone, Copy)]
struct Debt {
    least: u64,
    most: u64,
}

impl Default for Debt {
    /// After a restart, a queue may be owed one dispatch.
    fn default() -> Self {
        Self { least: 0, most: ONE }
    }
}

impl Debts {
    /// What is owed is not kept over a restart, nor which queues are counted together.
    pub fn restarted(&mut self) {
        *self = Self::default();
    }

    /// Queues or pools have changed: nothing is certainly owed.
    pub fn begin_anew(&mut self) {
        self.all.values_mut().for_each(|debt| debt.least = 0);
        self.ties.clear();
    }

    /// A queue has nothing to serve, so it is owed nothing.
    fn idle(&mut self, queue: &QueueName) {
        let same = self.all.iter_mut().filter(|((_, name), _)| name == queue);
        same.for_each(|(_, debt)| debt.least = 0);
    }

    /// A fetch without a pool named these together.
    fn tie(&mut self, queues: &[QueueName]) {
        let (tied, others) = std::mem::take(&mut self.ties)
            .into_iter()
            .partition::<Vec<_>, _>(|tie| queues.iter().any(|queue| tie.contains(queue)));
        self.ties = others;
        self.ties.push(tied.into_iter().flatten().chain(queues.iter().cloned()).collect());
    }

    fn tied_to(&self, queue: &QueueName) -> BTreeSet<QueueName> {
        self.ties.iter().find(|tie| tie.contains(queue)).cloned().unwrap_or_default()
    }
}

impl World {
    /// A fetch that names a queue which is owed a dispatch gets that queue, or one that is owed as
    /// much. Where some fetches name only some of the queues, one that is owed up to half a dispatch
    /// less may come first, because fewer fetches name it. Dispatches count for all queues of the pool; without pools, for all queues that fetches
    /// have tied together.
    pub(super) fn check_debts(&mut self, class: &Class, fetch: &Fetch) -> Check {
        if fetch.tenant.is_some() {
            return Ok(());
        }
        let (pool, rule) = (self.pool_of(fetch), self.starvation_of(fetch));
        let asked = self.queues_to_serve(fetch);
        let (counted, least, most) = match pool.as_ref().and_then(|name| self.pools.get(name)) {
            Some(pool) => {
                let queues: BTreeSet<_> = pool.config.queues.iter().cloned().collect();
                let ratio = u64::from(rule.ratio_among(pool.config.queues.len()));
                (queues, ratio, ratio)
            }
            None => {
                if asked.len() > 1 {
                    self.debts.tie(&asked);
                }
                let least = u64::from(rule.ratio_among(self.queues.len()));
                (self.debts.tied_to(&class.queue), least, u64::from(rule.ratio_among(1)))
            }
        };
        let partial = &mut self.debts.partial;
        let named: BTreeSet<&QueueName> = asked.iter().collect();
        if let Some(pool) = pool.as_ref().filter(|_| counted.iter().any(|q| !named.contains(q))) {
            partial.insert(pool.clone());
        }
        // Without a pool, sets from before a restart may tie queues that no fetch has named yet.
        let differ = pool.as_ref().is_none_or(|pool| partial.contains(pool));
        let head_start = if differ { HEAD_START } else { 0 };
        let closed: Vec<_> =
            self.queues.keys().filter(|queue| !self.has_certainly_a_job(queue)).cloned().collect();
        closed.iter().for_each(|queue| self.debts.idle(queue));
        let debt = |queue: &QueueName| {
            self.debts.all.get(&(pool.clone(), queue.clone())).copied().unwrap_or_default()
        };
        let got = debt(&class.queue);
        for queue in asked.iter().filter(|queue| rule.enabled && **queue != class.queue) {
            let owed = debt(queue).least;
            if least == 0 || owed + least < ONE {
                continue;
            }
            let early = got.most + head_start;
            let in_turn = early >= owed && early + most >= ONE;
            ensure(in_turn, Rule::Starved, || {
                let (other, most) = (&class.queue, got.most);
                format!(
                    "{queue} is owed {owed} millionths or more, {other} {most}, and got the job"
                )
            })?;
        }
        for queue in self.queues.keys() {
            let debt = self.debts.all.entry((pool.clone(), queue.clone())).or_default();
            debt.most += most;
            if counted.contains(queue) && !closed.contains(queue) {
                debt.least += least;
            }
            if *queue == class.queue {
                // Without a pool, what a restart leaves to a queue is owed from when it is tied.
                let later = if pool.is_none() && !counted.contains(queue) { ONE } else { 0 };
                debt.most = debt.most.saturating_sub(ONE).max(later);
                debt.least = debt.least.saturating_sub(ONE);
            }
        }
        Ok(())
    }

    /// Somebody could be served from this queue, and no key's order gives the start to somebody else.
    fn has_certainly_a_job(&self, queue: &QueueName) -> bool {
        let all: Vec<QueueName> = self.queues.keys().cloned().collect();
        self.candidates(queue).iter().any(|one| self.is_uncontested(one.class, &all))
    }

    /// Between dispatches: a queue that may have nothing to hand out is certainly owed nothing.
    pub(super) fn note_idle_debts(&mut self) {
        let known: BTreeSet<QueueName> = self
            .debts
            .all
            .iter()
            .filter(|(_, debt)| debt.least > 0)
            .map(|((_, q), _)| q.clone())
            .collect();
        for queue in
            known.iter().filter(|queue| !self.has_certainly_a_job(queue)).collect::<Vec<_>>()
        {
            self.debts.idle(queue);
        }
    }
}
