//! Finds the jobs that could certainly be dispatched, and the one among them that is next.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rota_engine::{Cost, Fetch, PriorityScope};
use rota_model::{Class, QueueName, QueueStrategy, Seq, TenantId};

use super::accounts::Account;
use super::violation::{Check, Rule, ensure};
use super::world::{Job, World};

/// The first job of a class, which nothing keeps back.
pub(super) struct Candidate<'a> {
    pub seq: Seq,
    pub class: &'a Class,
}

impl World {
    /// The queue itself lets jobs go.
    pub(super) fn queue_is_open(&self, name: &QueueName) -> bool {
        let Some(queue) = self.queues.get(name) else { return false };
        let full = queue.concurrency.is_some_and(|most| queue.active >= u64::from(most));
        !self.maintenance && !queue.paused && !full
    }

    /// The first job of each class of a queue that certainly may start.
    pub(super) fn candidates(&self, name: &QueueName) -> Vec<Candidate<'_>> {
        if !self.queue_is_open(name) {
            return Vec::new();
        }
        let ready = self.queues.get(name).into_iter().flat_map(|queue| queue.ready.values());
        let first = |seqs: &BTreeSet<Seq>| seqs.iter().copied().find(|seq| !self.is_overdue(*seq));
        ready
            .filter_map(|seqs| {
                let seq = first(seqs)?;
                let class = &*self.jobs.get(&seq)?.class;
                let open = self.tenant_is_open(&class.tenant, name) && self.limits_are_open(class);
                open.then_some(Candidate { seq, class })
            })
            .collect()
    }

    /// Those that this fetch may have.
    pub(super) fn candidates_for(&self, name: &QueueName, fetch: &Fetch) -> Vec<Candidate<'_>> {
        if self.is_shut_out(fetch, name) {
            return Vec::new();
        }
        let mut all = self.candidates(name);
        all.retain(|one| fetch.tenant.as_ref().is_none_or(|tenant| one.class.tenant == *tenant));
        all
    }

    /// A job of these that this fetch could have and has not.
    pub(super) fn could_have(&self, fetch: &Fetch, of: impl Fn(Seq) -> bool) -> Option<Seq> {
        if !self.has_room(fetch) {
            return None;
        }
        let queues = self.queues_of(fetch);
        let all = queues.iter().flat_map(|queue| self.candidates_for(queue, fetch));
        all.map(|one| one.seq).find(|seq| of(*seq))
    }

    /// Nobody was passed over who had to be first: not a queue, where they are served in order; in
    /// the queue no higher level; of a tenant at a level no higher priority and no older
    /// job that no limit holds, and no older job of the same class.
    pub(super) fn check_turn(&self, seq: Seq, job: &Job, fetch: &Fetch) -> Check {
        let class = &*job.class;
        // A tenant's own workers are served queue by queue in both scopes.
        let across = fetch.tenant.is_none() && self.account_over(fetch).is_some();
        if across {
            self.check_turn_across(seq, class, fetch)?;
        } else if self.strategy_of(fetch) == QueueStrategy::Strict {
            let queues = self.queues_of(fetch);
            let before = queues.iter().take_while(|queue| **queue != class.queue);
            let first = before
                .flat_map(|queue| self.candidates_for(queue, fetch))
                .map(|one| one.seq)
                .next();
            ensure(first.is_none(), Rule::Order, || {
                format!("job {seq} was handed out before {first:?} of an earlier queue")
            })?;
        }
        let level = self.level_of(class);
        let fifo = !across
            && !self.config.fairness.enabled
            && self.config.fairness.priority_scope == PriorityScope::Global;
        let queues = self.queues_of_one_key_order(fetch, across);
        for other in self.candidates_for(&class.queue, fetch) {
            if other.class != class && !self.is_uncontested(other.class, &queues) {
                continue;
            }
            let their = self.level_of(other.class);
            ensure(their <= level, Rule::Order, || {
                format!("job {seq} of level {level} was handed out before {} of {their}", other.seq)
            })?;
            let own = other.class.tenant == class.tenant;
            let same = own || fifo && fetch.tenant.is_none();
            // Within a level, priorities do not count between tenants: a boost may have raised one.
            let urgency = |class: &Class| own.then(|| Reverse(self.priority_of(class)));
            let older = (urgency(other.class), other.seq) < (urgency(class), seq);
            // Whoever waits for a limit may have to let others go first who wait for it as well.
            let free = other.class == class || self.has_limits_alone(other.class);
            ensure(their < level || !same || !older || !free, Rule::Order, || {
                format!("job {seq} was handed out before {}", other.seq)
            })?;
        }
        Ok(())
    }

    /// The queues over which a start of a key goes to whoever comes first in the key's order, so that
    /// another queue may come before this one. Where queues go in order or have guaranteed parts, that
    /// decides.
    fn queues_of_one_key_order(&self, fetch: &Fetch, across: bool) -> Vec<QueueName> {
        let strict = self.strategy_of(fetch) == QueueStrategy::Strict;
        let by_queue = strict || self.starvation_of(fetch).enabled;
        if fetch.tenant.is_some() || by_queue && !across {
            return Vec::new();
        }
        let queues = self.queues_of(fetch);
        if queues.len() > 1 { queues } else { Vec::new() }
    }

    /// Nobody else in the queue waits for what holds this class, nor does its tenant elsewhere in it.
    fn has_limits_alone(&self, class: &Class) -> bool {
        !self.is_contested(class, &class.queue)
    }

    /// The same for several queues.
    pub(super) fn is_uncontested(&self, class: &Class, queues: &[QueueName]) -> bool {
        !queues.iter().any(|queue| self.is_contested(class, queue))
    }

    /// Others in a queue, or the same tenant at another level, wait for what holds this class.
    fn is_contested(&self, class: &Class, queue: &QueueName) -> bool {
        let held = self.limits_of(class);
        if held.is_empty() {
            return false;
        }
        let level = self.level_of(class);
        let lanes = self.queues.get(queue).into_iter().flat_map(|queue| queue.ready.keys());
        // Where fairness is off, the jobs of a key go in the order in which they came.
        let in_order = !self.config.fairness.enabled;
        let competes = |other: &&Class| {
            other.tenant != class.tenant
                || self.level_of(other) != level
                || in_order && other.policy.limit != class.policy.limit
        };
        let mut others =
            lanes.filter_map(|id| self.classes.get(id)).map(|class| &**class).filter(competes);
        others.any(|other| {
            self.limits_of(other).iter().any(|(key, _)| held.iter().any(|(own, _)| own == key))
        })
    }

    /// A job is handed out: its tenant has had a turn.
    pub(super) fn take_turn(&mut self, class: &Class, fetch: &Fetch) -> Check {
        let over = self.account_over(fetch);
        if let Some(Account::Set(queues)) = &over {
            self.sets.insert(queues.clone());
        }
        let account = over.unwrap_or_else(|| Account::Queue(class.queue.clone()));
        let in_turn = fetch.tenant.is_none()
            && (matches!(account, Account::Queue(_)) || self.chooses_among_all(fetch, &account));
        let place = (account, self.level_of(class));
        let weight = self.weight_of(&class.tenant);
        if in_turn {
            return self.turns.served(&place, &class.tenant, weight);
        }
        if fetch.tenant.is_none() {
            let rivals = self.rivals_of(class, fetch);
            return self.turns.served_among(&place, &class.tenant, weight, &rivals);
        }
        // What a tenant's own workers take costs it nothing elsewhere, unless that was asked for.
        if self.config.fairness.charge_own_workers {
            self.turns.out_of_turn(&place, &class.tenant, weight);
        }
        Ok(())
    }

    /// Looks who has something to be served now. A start of a key for which others wait as well is
    /// given out in the key's own order, so that it is nobody's until it is offered.
    pub(super) fn note_present(&mut self) {
        let fairness = &self.config.fairness;
        let alone = self.tenants.len() < 2;
        if alone || !fairness.enabled || fairness.cost != Cost::Job {
            return;
        }
        let mut present: BTreeMap<_, BTreeMap<TenantId, _>> = BTreeMap::new();
        for place in self.turns.places() {
            present.entry(place).or_default();
        }
        let over: Vec<_> =
            self.accounts_over().into_iter().map(|a| (self.queues_in(&a), a)).collect();
        let mut note = |account: Account, class: &Class| {
            let level = present.entry((account, self.level_of(class))).or_default();
            let tenant = &class.tenant;
            level.entry(tenant.clone()).or_insert_with(|| self.weight_of(tenant));
        };
        for name in self.queues.keys() {
            for one in self.candidates(name) {
                let contested = |queue: &&QueueName| self.is_contested(one.class, queue);
                let contested: Vec<_> = self.queues.keys().filter(contested).collect();
                // A fetch for several queues may give the key's start to somebody in another one.
                if contested.is_empty() {
                    note(Account::Queue(name.clone()), one.class);
                }
                for (queues, account) in over.iter().filter(|(queues, _)| queues.contains(name)) {
                    if !queues.iter().any(|queue| contested.contains(&queue)) {
                        note(account.clone(), one.class);
                    }
                }
            }
        }
        for (place, tenants) in present {
            self.turns.present(place, &tenants);
        }
    }
}
