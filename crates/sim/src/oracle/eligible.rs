//! Which jobs could certainly be handed out, and whose turn it is among them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rota_engine::{Cost, Fetch, PriorityScope};
use rota_model::{Class, QueueName, QueueStrategy, Seq, TenantId};

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
        if self.strategy_of(fetch) == QueueStrategy::Strict {
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
        let fifo = !self.config.fairness.enabled
            && self.config.fairness.priority_scope == PriorityScope::Global;
        for other in self.candidates_for(&class.queue, fetch) {
            let their = self.level_of(other.class);
            ensure(their <= level, Rule::Order, || {
                format!("job {seq} of level {level} was handed out before {} of {their}", other.seq)
            })?;
            let own = other.class.tenant == class.tenant;
            let same = own || fifo && fetch.tenant.is_none();
            // At one level, a priority is of no account among tenants: a boost may stand for it.
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

    /// Nobody else in the queue waits for what holds this class, nor does its tenant elsewhere in it.
    fn has_limits_alone(&self, class: &Class) -> bool {
        let held = self.limits_of(class);
        let level = self.level_of(class);
        let lanes = self.queues.get(&class.queue).into_iter().flat_map(|queue| queue.ready.keys());
        let others = lanes
            .filter_map(|id| self.classes.get(id))
            .filter(|other| other.tenant != class.tenant || self.level_of(other) != level);
        let waits = |other: &Arc<Class>| {
            self.limits_of(other).iter().any(|(key, _)| held.iter().any(|(own, _)| own == key))
        };
        held.is_empty() || !others.into_iter().any(waits)
    }

    /// A job is handed out: its tenant has had a turn.
    pub(super) fn take_turn(&mut self, class: &Class, fetch: &Fetch) -> Check {
        let place = (class.queue.clone(), self.level_of(class));
        let weight = self.weight_of(&class.tenant);
        if fetch.tenant.is_some() {
            // What a tenant's own workers take costs it nothing elsewhere, unless that was asked for.
            if self.config.fairness.charge_own_workers {
                self.turns.out_of_turn(&place, &class.tenant, weight);
            }
            return Ok(());
        }
        self.turns.served(&place, &class.tenant, weight)
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
        for name in self.queues.keys() {
            for one in self.candidates(name) {
                if !self.has_limits_alone(one.class) {
                    continue;
                }
                let level = present.entry((name.clone(), self.level_of(one.class))).or_default();
                let tenant = &one.class.tenant;
                level.entry(tenant.clone()).or_insert_with(|| self.weight_of(tenant));
            }
        }
        for (place, tenants) in present {
            self.turns.present(place, &tenants);
        }
    }
}
