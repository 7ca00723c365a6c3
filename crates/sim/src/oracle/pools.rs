//! Checks pools: concurrency, isolation, and the guaranteed part of each queue.

use std::collections::BTreeMap;

use rota_engine::{Command, Fetch};
use rota_model::{Class, PoolConfig, PoolName, QueueName, QueueStrategy, Starvation};

use super::violation::{Check, Rule, ensure};
use super::world::World;

#[derive(Clone)]
pub struct Pool {
    pub config: PoolConfig,
    /// For each queue, since it has had something to hand out: the dispatches of the pool in which
    /// it could have been served, and whether it was.
    runs: BTreeMap<QueueName, Vec<bool>>,
    /// Dispatches to fetches that named only some of its queues.
    partial: u64,
}

impl World {
    /// The pool that a fetch speaks for.
    pub(super) fn pool_of(&self, fetch: &Fetch) -> Option<PoolName> {
        let worker = fetch.worker.as_ref().and_then(|name| self.workers.get(name));
        let own = worker.and_then(|worker| worker.pool.clone());
        let exists = |name: &PoolName| self.pools.contains_key(name);
        own.filter(exists).or_else(|| fetch.pool.clone().filter(exists))
    }

    fn pool_config(&self, fetch: &Fetch) -> Option<&PoolConfig> {
        self.pools.get(&self.pool_of(fetch)?).map(|pool| &pool.config)
    }

    /// The queues that a fetch asks for.
    pub(super) fn queues_of(&self, fetch: &Fetch) -> Vec<QueueName> {
        let named = &fetch.queues;
        match self.pool_config(fetch) {
            Some(pool) if named.is_empty() => pool.queues.clone(),
            // A fetch that waits may name a queue that its pool has lost meanwhile.
            Some(pool) => named.iter().filter(|q| pool.queues.contains(q)).cloned().collect(),
            None => named.clone(),
        }
    }

    pub(super) fn strategy_of(&self, fetch: &Fetch) -> QueueStrategy {
        if self.starvation_of(fetch).enabled {
            return QueueStrategy::RoundRobin;
        }
        if let Some(pool) = self.pool_config(fetch) {
            return pool.strategy;
        }
        let worker = fetch.worker.as_ref().and_then(|name| self.workers.get(name));
        let own = worker.and_then(|worker| worker.prefers);
        let asked = fetch.preference.as_ref().map(|preference| preference.strategy);
        asked.or(own).unwrap_or(QueueStrategy::Strict)
    }

    pub(super) fn starvation_of(&self, fetch: &Fetch) -> Starvation {
        let own = self.pool_config(fetch).and_then(|pool| pool.starvation);
        own.unwrap_or(self.config.starvation)
    }

    /// Queues are guaranteed a part, or go first when they have gone without for too long.
    pub(super) fn guarantees_parts(&self, fetch: &Fetch) -> bool {
        self.starvation_of(fetch).enabled
    }

    /// The queue is kept for pools that this fetch does not belong to.
    pub(super) fn is_shut_out(&self, fetch: &Fetch, queue: &QueueName) -> bool {
        self.is_kept_from(self.pool_of(fetch).as_ref(), queue)
    }

    pub(super) fn is_kept_from(&self, own: Option<&PoolName>, queue: &QueueName) -> bool {
        let keeps = |pool: &Pool| pool.config.isolated && pool.config.queues.contains(queue);
        let mut keepers = self.pools.iter().filter(|(_, pool)| keeps(pool)).peekable();
        keepers.peek().is_some() && !keepers.any(|(name, _)| Some(name) == own)
    }

    /// The pool of this fetch may have one more active job.
    pub(super) fn pool_has_room(&self, fetch: &Fetch) -> bool {
        let Some(most) = self.pool_config(fetch).and_then(|pool| pool.concurrency) else {
            return true;
        };
        let name = self.pool_of(fetch);
        let jobs = self.active.iter().filter_map(|seq| self.jobs.get(seq));
        (jobs.filter(|job| job.pool == name).count() as u64) < u64::from(most)
    }

    /// A job is handed out for a pool: each of its queues that could have been served has had, of
    /// any run of dispatches, at least what it is guaranteed.
    pub(super) fn check_guarantee(&mut self, class: &Class, fetch: &Fetch) -> Check {
        let rule = self.starvation_of(fetch);
        let Some(name) = self.pool_of(fetch).filter(|_| rule.enabled) else { return Ok(()) };
        if fetch.tenant.is_some() {
            // It could not have had just any job, but what a queue got that way it has got.
            let pool = self.pools.get_mut(&name);
            let run = pool.and_then(|pool| pool.runs.get_mut(&class.queue));
            run.into_iter().for_each(|run| run.push(true));
            return Ok(());
        }
        let asked = self.queues_of(fetch);
        let all = self.pool_config(fetch).map_or(asked.len(), |pool| pool.queues.len());
        let ratio = u64::from(rule.ratio_among(all));
        let open: Vec<bool> =
            asked.iter().map(|queue| !self.candidates_for(queue, fetch).is_empty()).collect();
        let Some(pool) = self.pools.get_mut(&name) else { return Ok(()) };
        pool.partial += u64::from(asked.len() < all);
        // What the others were owed meanwhile is made up for first.
        let arrears = (pool.partial * ratio * (all as u64 - 1)).div_ceil(1_000_000);
        for (queue, open) in asked.into_iter().zip(open) {
            let run = pool.runs.entry(queue.clone()).or_default();
            if !open {
                run.clear();
                continue;
            }
            run.push(queue == class.queue);
            let mut got = 0;
            for (n, served) in (1..).zip(run.iter().rev()) {
                got += u64::from(*served);
                let due = ratio * u64::saturating_sub(n, arrears) / 1_000_000;
                ensure(got + 1 >= due, Rule::Starved, || {
                    format!("{queue} got {got} of {n} dispatches of {name}, {due} less one is due")
                })?;
            }
        }
        Ok(())
    }

    /// Between dispatches: a queue that has nothing to hand out begins anew.
    pub(super) fn note_idle_queues(&mut self) {
        let runs = |pool: &Pool| -> Vec<QueueName> { pool.runs.keys().cloned().collect() };
        let watched: Vec<_> =
            self.pools.iter().map(|(name, pool)| (name.clone(), runs(pool))).collect();
        for (name, queues) in watched {
            for queue in queues {
                if self.candidates(&queue).is_empty()
                    && let Some(pool) = self.pools.get_mut(&name)
                {
                    pool.runs.remove(&queue);
                }
            }
        }
    }

    /// What is owed to queues is not kept over a restart.
    pub(super) fn restart_pools(&mut self) {
        self.pools.values_mut().for_each(|pool| pool.runs.clear());
    }

    pub(super) fn control_pools(&mut self, command: &Command) {
        if matches!(command, Command::PutPool(..) | Command::RemovePool(_)) {
            self.debts.begin_anew();
        }
        match command {
            Command::PutPool(name, config) => {
                let pool = Pool { config: (**config).clone(), runs: BTreeMap::new(), partial: 0 };
                self.pools.insert(name.clone(), pool);
                self.note_present();
            }
            Command::RemovePool(name) => {
                self.pools.remove(name);
                self.note_present();
            }
            _ => {}
        }
    }
}
