//! Checks how one tenant's queues take turns in pool scope.

use std::collections::BTreeMap;

use rota_engine::{Command, Fetch};
use rota_model::{Class, PoolName, QueueName, QueueStrategy, TenantId, Weight};

use super::accounts::Account;
use super::violation::{Check, Rule, ensure};
use super::world::World;

/// Jobs that a queue makes up for at most, and one of its own turn.
const MADE_UP_FOR: f64 = 17.0;

/// A tenant at a level of a pool, and one of the queues where it has jobs.
type Waiting = (PoolName, TenantId, i32, QueueName);

#[derive(Clone, Default)]
pub struct QueueTurns {
    /// How often in a row the tenant was served in turn from another queue, although it could have
    /// been served from this one.
    passed: BTreeMap<Waiting, u32>,
    /// How many jobs a queue may be behind, because the tenant had jobs there and was served from
    /// others by fetches that did not name it. It makes up for these, and meanwhile the others do not
    /// have their turn.
    behind: BTreeMap<Waiting, f64>,
}

impl World {
    /// A job is handed out in pool scope: no other queue where its tenant could have been served at
    /// the same level was passed over more often than the strategy allows. A queue that makes up for
    /// jobs it has missed passes nobody over.
    pub(super) fn check_queue_turn(&mut self, class: &Class, fetch: &Fetch) -> Check {
        let Some(Account::Pool(pool)) = self.account_over(fetch) else { return Ok(()) };
        if fetch.tenant.is_some() {
            return Ok(());
        }
        let strategy = self.strategy_of(fetch);
        let turns = matches!(strategy, QueueStrategy::RoundRobin | QueueStrategy::Weighted);
        if !turns || self.guarantees_parts(fetch) {
            return Ok(());
        }
        let (asked, all) = (self.queues_of(fetch), self.queues_in(&Account::Pool(pool.clone())));
        let (tenant, level) = (&class.tenant, self.level_of(class));
        let waiting = |queue: &QueueName| (pool.clone(), tenant.clone(), level, queue.clone());
        let made_up_for = self.make_up_for(&waiting(&class.queue));
        self.queue_turns.passed.remove(&waiting(&class.queue));
        for queue in all.iter().filter(|queue| **queue != class.queue) {
            let waiting = waiting(queue);
            if asked.contains(queue) && self.waits_in_turn(&waiting, &all) {
                if made_up_for {
                    continue;
                }
                let most = self.most_passes(&pool, strategy, queue, &all);
                let times = self.queue_turns.passed.entry(waiting).or_default();
                *times += 1;
                ensure(*times <= most, Rule::PassedOver, || {
                    format!("{tenant} was served {times} times from others than {queue} of {pool}")
                })?;
                continue;
            }
            if asked.contains(queue) {
                self.queue_turns.passed.remove(&waiting);
                if self.queue_is_closed(queue) {
                    // It has no turns while it is closed, and makes up for none.
                    self.queue_turns.behind.remove(&waiting);
                }
                continue;
            }
            if self.oldest_of(tenant, level, std::slice::from_ref(queue)).is_some() {
                let weight = |queue| f64::from(self.weight_in(&pool, strategy, queue));
                let missed = weight(queue) / weight(&class.queue);
                let behind = self.queue_turns.behind.entry(waiting).or_default();
                *behind = (*behind + missed).min(MADE_UP_FOR);
            } else {
                self.queue_turns.behind.remove(&waiting);
            }
        }
        Ok(())
    }

    /// A job is handed out from this queue: whether it makes up for one that was missed.
    fn make_up_for(&mut self, served: &Waiting) -> bool {
        let Some(behind) = self.queue_turns.behind.remove(served) else { return false };
        if behind > 1.0 {
            self.queue_turns.behind.insert(served.clone(), behind - 1.0);
        }
        true
    }

    /// The tenant could certainly be served from this queue at this level.
    fn waits_in_turn(&self, (pool, tenant, level, queue): &Waiting, all: &[QueueName]) -> bool {
        let kept = self.is_kept_from(Some(pool), queue);
        let candidates = self.candidates(queue);
        let mut own = candidates.iter().filter(|one| one.class.tenant == *tenant);
        let certain =
            |class: &Class| self.level_of(class) == *level && self.is_uncontested(class, all);
        !kept && own.any(|one| certain(one.class))
    }

    /// How often others may go first: by weight, and once more.
    fn most_passes(
        &self,
        pool: &PoolName,
        strategy: QueueStrategy,
        queue: &QueueName,
        all: &[QueueName],
    ) -> u32 {
        let weight = |queue| self.weight_in(pool, strategy, queue);
        let others = all.iter().filter(|other| *other != queue);
        others.map(|other| weight(other).div_ceil(weight(queue)) + 1).sum()
    }

    fn weight_in(&self, pool: &PoolName, strategy: QueueStrategy, queue: &QueueName) -> u32 {
        let weights = self.pools.get(pool).map(|pool| &pool.config.weights);
        let own = weights.and_then(|weights| weights.get(queue)).copied();
        own.filter(|_| strategy == QueueStrategy::Weighted).unwrap_or(Weight::ONE).hundredths()
    }

    /// Between dispatches: a queue from which its tenant could not be served begins anew, and one where
    /// it has no jobs left has nothing to make up for.
    pub(super) fn note_idle_turns(&mut self) {
        let waiting: Vec<Waiting> = self.queue_turns.passed.keys().cloned().collect();
        for one in waiting {
            let all = self.queues_in(&Account::Pool(one.0.clone()));
            if !self.waits_in_turn(&one, &all) {
                self.queue_turns.passed.remove(&one);
            }
        }
        let waiting: Vec<Waiting> = self.queue_turns.behind.keys().cloned().collect();
        for one in waiting {
            let (_, tenant, level, queue) = &one;
            if self.oldest_of(tenant, *level, std::slice::from_ref(queue)).is_none() {
                self.queue_turns.behind.remove(&one);
            }
        }
    }

    /// Turns begin anew with other rules, and after a restart.
    pub(super) fn control_queue_turns(&mut self, command: &Command) {
        match command {
            Command::PutPool(..) | Command::RemovePool(..) => {
                self.queue_turns = QueueTurns::default()
            }
            Command::PutTenant(..) => self.queue_turns.passed.clear(),
            _ => {}
        }
    }
}
