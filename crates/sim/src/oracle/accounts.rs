//! Finds the account that a dispatch is charged to: a queue, or in pool scope a pool or a set of queues.

use std::collections::BTreeSet;

use rota_engine::{Fetch, PriorityScope};
use rota_model::{Class, FairnessScope, PoolName, QueueName, QueueStrategy, Seq, TenantId};

use super::violation::{Check, Rule, ensure};
use super::world::World;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Account {
    Queue(QueueName),
    Pool(PoolName),
    /// Fetches without a pool that name these queues in this order. No client of the simulation
    /// asks for a strategy or for weights.
    Set(Vec<QueueName>),
}

impl World {
    /// In pool scope, the account over all queues of the fetch's pool, or of the fetch itself if it
    /// has no pool and names more than one queue.
    pub(super) fn account_over(&self, fetch: &Fetch) -> Option<Account> {
        if !self.config.fairness.enabled {
            return None;
        }
        let server = self.config.fairness.scope;
        if let Some(name) = self.pool_of(fetch) {
            return self.is_shared(&name).then_some(Account::Pool(name));
        }
        let queues = self.queues_to_serve(fetch);
        (server == FairnessScope::Pool && queues.len() > 1).then_some(Account::Set(queues))
    }

    fn is_shared(&self, pool: &PoolName) -> bool {
        let own = self.pools.get(pool).and_then(|pool| pool.config.fairness_scope);
        own.unwrap_or(self.config.fairness.scope) == FairnessScope::Pool
    }

    /// Accounts over several queues that fetches may use now.
    pub(super) fn accounts_over(&self) -> Vec<Account> {
        let pools = self.pools.keys().filter(|name| self.is_shared(name)).cloned();
        let sets = self.sets.iter().cloned().map(Account::Set);
        pools.map(Account::Pool).chain(sets).collect()
    }

    /// The queues that an account is over, without those that another pool keeps for itself.
    pub(super) fn queues_in(&self, account: &Account) -> Vec<QueueName> {
        match account {
            Account::Queue(name) => vec![name.clone()],
            Account::Set(queues) => queues.clone(),
            Account::Pool(name) => {
                let queues = self.pools.get(name).map_or(&[][..], |pool| &pool.config.queues);
                let mut queues = queues.to_vec();
                queues.retain(|queue| !self.is_kept_from(Some(name), queue));
                queues
            }
        }
    }

    /// The queues that a fetch asks for, each once: those that exist and that it may have.
    pub(super) fn queues_to_serve(&self, fetch: &Fetch) -> Vec<QueueName> {
        let mut queues: Vec<QueueName> = Vec::new();
        for queue in self.queues_of(fetch) {
            let served = self.queues.contains_key(&queue) && !self.is_shut_out(fetch, &queue);
            if served && !queues.contains(&queue) {
                queues.push(queue);
            }
        }
        queues
    }

    /// The tenant is chosen from all queues of the account: the fetch names them all, and none of
    /// them is served because of what it is guaranteed.
    pub(super) fn chooses_among_all(&self, fetch: &Fetch, account: &Account) -> bool {
        let asked = self.queues_to_serve(fetch);
        let exists = |queue: &QueueName| self.queues.contains_key(queue);
        let mut queues = self.queues_in(account).into_iter().filter(exists);
        !self.guarantees_parts(fetch) && queues.all(|queue| asked.contains(&queue))
    }

    /// Whoever else could certainly have been chosen: at this level, in a queue that the fetch
    /// names, and if that queue may have been owed a dispatch, in that queue.
    pub(super) fn rivals_of(&self, class: &Class, fetch: &Fetch) -> BTreeSet<TenantId> {
        let account = self.account_over(fetch);
        let all = account.map_or(Vec::new(), |account| self.queues_in(&account));
        let mut queues = self.queues_to_serve(fetch);
        if self.guarantees_parts(fetch) {
            queues.retain(|queue| *queue == class.queue);
        }
        let level = self.level_of(class);
        let candidates = queues.iter().flat_map(|queue| self.candidates_for(queue, fetch));
        candidates
            .filter(|one| self.level_of(one.class) == level && self.is_uncontested(one.class, &all))
            .map(|one| one.class.tenant.clone())
            .collect()
    }

    /// Pool scope: no queue of the fetch has a job of a higher level. An order of queues holds among
    /// the jobs of one tenant at one level. Where fairness is off, it is the turn of the tenant with
    /// the oldest job at the level. All of that after what queues are guaranteed.
    pub(super) fn check_turn_across(&self, seq: Seq, class: &Class, fetch: &Fetch) -> Check {
        if self.guarantees_parts(fetch) {
            return Ok(());
        }
        let level = self.level_of(class);
        let queues = self.queues_to_serve(fetch);
        let strict = self.strategy_of(fetch) == QueueStrategy::Strict;
        let fairness = &self.config.fairness;
        let fifo = !fairness.enabled && fairness.priority_scope == PriorityScope::Global;
        let oldest = self.oldest_of(&class.tenant, level, &queues);
        let mut earlier = true;
        for queue in &queues {
            earlier &= *queue != class.queue;
            for other in self.candidates_for(queue, fetch) {
                let their = self.level_of(other.class);
                ensure(their <= level, Rule::Order, || {
                    let job = other.seq;
                    format!("job {seq} of level {level} was handed out before {job} of {their}")
                })?;
                if their < level || !self.is_uncontested(other.class, &queues) {
                    continue;
                }
                let own = other.class.tenant == class.tenant;
                ensure(!(strict && own && earlier), Rule::Order, || {
                    format!("job {seq} was handed out before {} of an earlier queue", other.seq)
                })?;
                let waits_longer = oldest.is_none_or(|oldest| other.seq < oldest);
                ensure(!(fifo && !own && waits_longer), Rule::Order, || {
                    format!("job {seq} was handed out before {} of another tenant", other.seq)
                })?;
            }
        }
        Ok(())
    }

    /// The oldest job that a tenant has waiting at a level of some queues, limited or not.
    pub(super) fn oldest_of(
        &self,
        tenant: &TenantId,
        level: i32,
        queues: &[QueueName],
    ) -> Option<Seq> {
        let lanes = queues.iter().filter_map(|queue| self.queues.get(queue));
        let own = |class: &Class| class.tenant == *tenant && self.level_of(class) == level;
        lanes
            .flat_map(|queue| &queue.ready)
            .filter(|(id, _)| self.classes.get(id).is_some_and(|class| own(class)))
            .filter_map(|(_, seqs)| seqs.first().copied())
            .min()
    }
}
