//! How the queues of one tenant take turns in pool scope.

use std::collections::{BTreeMap, BTreeSet};

use rota_engine::{Command, Fetch};
use rota_model::{Class, PoolName, QueueName, QueueStrategy, TenantId, Weight};

use super::accounts::Account;
use super::violation::{Check, Rule, ensure};
use super::world::World;

/// Jobs that a queue makes up for, after fetches that left it out.
const MADE_UP_FOR: u32 = 17;

/// A tenant at a level of a pool, and one of the queues where it has something to start.
type Waiting = (PoolName, TenantId, i32, QueueName);

#[derive(Clone, Default)]
pub struct QueueTurns {
    /// How often in a row the tenant was served from another queue that the fetch named.
    passed: BTreeMap<Waiting, u32>,
    /// Pools of which fetches named only some queues.
    partial: BTreeSet<PoolName>,
}

impl World {
    /// A job is handed out in pool scope: no other queue where its tenant could have been served at
    /// the same level was passed over more often than the strategy allows.
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
        // A fetch may name a queue twice.
        let asked: BTreeSet<QueueName> = self.queues_of(fetch).into_iter().collect();
        let all = self.queues_in(&Account::Pool(pool.clone()));
        if asked.len() < all.len() {
            self.queue_turns.partial.insert(pool.clone());
        }
        let level = self.level_of(class);
        for queue in asked {
            let waiting = (pool.clone(), class.tenant.clone(), level, queue.clone());
            if queue == class.queue || !self.waits_in_turn(&waiting, &all) {
                self.queue_turns.passed.remove(&waiting);
                continue;
            }
            let most = self.most_passes(&pool, strategy, &queue, &all);
            let times = self.queue_turns.passed.entry(waiting).or_default();
            *times += 1;
            ensure(*times <= most, Rule::PassedOver, || {
                let tenant = &class.tenant;
                format!("{tenant} was served {times} times from others than {queue} of {pool}")
            })?;
        }
        Ok(())
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
        let weights = self.pools.get(pool).map(|pool| &pool.config.weights);
        let weight = |queue: &QueueName| {
            let own = weights.and_then(|weights| weights.get(queue)).copied();
            own.filter(|_| strategy == QueueStrategy::Weighted).unwrap_or(Weight::ONE).hundredths()
        };
        let more = if self.queue_turns.partial.contains(pool) { MADE_UP_FOR } else { 0 };
        let others = all.iter().filter(|other| *other != queue);
        others.map(|other| weight(other).div_ceil(weight(queue)) + 1 + more).sum()
    }

    /// Between dispatches: a queue from which its tenant could not be served begins anew.
    pub(super) fn note_idle_turns(&mut self) {
        let waiting: Vec<Waiting> = self.queue_turns.passed.keys().cloned().collect();
        for one in waiting {
            let all = self.queues_in(&Account::Pool(one.0.clone()));
            if !self.waits_in_turn(&one, &all) {
                self.queue_turns.passed.remove(&one);
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
