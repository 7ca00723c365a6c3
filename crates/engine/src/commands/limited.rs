//! What limits have to do with the start and the end of a job.

use rota_model::{ClassId, JobType, LimitKey, LimitNumbers, QueueName, Rate, Scope};

use crate::active::Active;
use crate::config::Cost;
use crate::limit::{Closed, GateIx, LimitIx, Partition, Told};
use crate::sched::{QueueIx, Tag};
use crate::{Engine, EventKind, Times};

impl Engine {
    /// The gates that jobs of a class must pass, besides that of their queue.
    pub(crate) fn gates_of(&mut self, class: &rota_model::Class) -> Box<[GateIx]> {
        let mut gates = Vec::new();
        if let Some(limit) = &class.policy.limit {
            let tenant = (limit.scope == Scope::Tenant).then(|| class.tenant.clone());
            let partition = Partition { key: limit.key.clone(), tenant };
            let ix = self.limits.get_or_make(&partition);
            gates.push(self.limits.use_gate(ix, limit.numbers, Some(limit.on_limit)));
        }
        if let Some(ix) = self.declared(&LimitKey::of_type(&class.kind)) {
            gates.push(self.limits.use_gate(ix, LimitNumbers::default(), None));
        }
        gates.into()
    }

    /// The limit of this key for everyone, if something was said about it.
    fn declared(&self, key: &LimitKey) -> Option<LimitIx> {
        let ix = self.limits.find(&Partition { key: key.clone(), tenant: None })?;
        self.limits.limit(ix).is_spoken_of().then_some(ix)
    }

    /// Something was said about a key: the classes and the queue that it means must pass it from
    /// now on, or need not any more.
    pub(crate) fn rearrange(&mut self, key: &LimitKey) {
        if let Some(name) = key.strip_prefix("queue:").and_then(|q| QueueName::stored(q).ok()) {
            self.rearrange_queue(&name);
        }
        if let Some(kind) = key.strip_prefix("type:").and_then(|t| JobType::parse(t).ok()) {
            let meant = self.classes_where(|class| class.kind == kind);
            for class in meant {
                self.displace_lane(class);
                let about = self.classes.slot(class).class.clone();
                let jobs = self.lanes.get(class).map_or(0, |lane| lane.len()) as u64;
                let old = std::mem::take(&mut self.classes.slot_mut(class).gates);
                let new = self.gates_of(&about);
                new.iter().for_each(|gate| self.limits.gate_mut(*gate).available += jobs);
                for gate in old {
                    self.limits.gate_mut(gate).available -= jobs;
                    self.limits.leave_gate(gate);
                }
                self.classes.slot_mut(class).gates = new;
                if self.lanes.get(class).is_some() {
                    self.place_lane(class);
                }
            }
        }
        self.recount_active(key);
    }

    /// Jobs that were active when a limit began or ceased to mean them count from now on, or do not.
    fn recount_active(&mut self, key: &LimitKey) {
        if !key.starts_with("queue:") && !key.starts_with("type:") {
            return;
        }
        let partition = Partition { key: key.clone(), tenant: None };
        let Some(ix) = self.limits.find(&partition) else { return };
        let classes = self.active.iter().map(|(_, active)| active.class);
        let held = |class: &ClassId| self.limits_of(*class).iter().any(|(limit, _)| *limit == ix);
        let active = classes.filter(held).count() as u64;
        self.limits.limit_mut(ix).active = active;
    }

    /// The limit on a queue as a whole is there while something is said about it.
    pub(crate) fn rearrange_queue(&mut self, name: &QueueName) {
        let Some(ix) = self.queues.find(name) else { return };
        let wanted = self.declared(&LimitKey::of_queue(name));
        let known = self.queues.get(ix).gate;
        match (known, wanted) {
            (None, Some(limit)) => {
                let gate = self.limits.use_gate(limit, LimitNumbers::default(), None);
                self.queues.get_mut(ix).gate = Some(gate);
            }
            (Some(gate), None) => {
                self.tell_of_queue(ix, gate, None);
                self.queues.get_mut(ix).gate = None;
                self.limits.leave_gate(gate);
            }
            _ => {}
        }
        if !self.queues.get(ix).waiters.is_empty() {
            self.awake.push(ix);
        }
    }

    /// Whether the limit of the queue as a whole lets a job start now.
    pub(crate) fn queue_is_open(&mut self, ix: QueueIx) -> bool {
        let Some(gate) = self.queues.get(ix).gate else { return true };
        let opening = self.limits.opening(gate, self.now);
        if let Some(opens) = opening.closed.and_then(|closed| closed.opens) {
            self.limits.look_at(gate, opens.max(0) as u64);
        }
        self.tell_of_queue(ix, gate, opening.closed.as_ref());
        opening.free > 0
    }

    /// Whoever asks a queue that is closed as a whole, or open again, is the one to notice.
    fn tell_of_queue(&mut self, ix: QueueIx, gate: GateIx, closed: Option<&Closed>) {
        let told = self.limits.gate(gate).told;
        if told.is_some() == closed.is_some() {
            return;
        }
        let next = self
            .queues
            .get(ix)
            .first_rank()
            .and_then(|(_, _, turn)| self.turns.get(turn).lanes.first());
        let next = next.map(|&(_, _, class)| class);
        if next.is_none() && closed.is_some() {
            return;
        }
        self.limits.gate_mut(gate).told = closed.map(|closed| (closed.strategy, self.now.mono));
        let Some(class) = next else { return };
        match (told, closed) {
            (None, Some(closed)) => self.tell_closed(gate, class, closed),
            (Some(told), None) => self.tell_open(gate, class, told),
            _ => {}
        }
    }

    /// A job of this class would start, and this gate does not let it.
    pub(crate) fn tell_closed(&mut self, gate: GateIx, class: ClassId, closed: &Closed) {
        let limit = self.limits.limit_mut(self.limits.gate(gate).limit);
        limit.exceeded[closed.strategy as usize] += 1;
        let (key, tenant) = (limit.partition.key.clone(), limit.partition.tenant.clone());
        let (strategy, limit, current) = (closed.strategy, closed.limit, closed.current);
        let class = self.classes.slot(class).class.clone();
        self.emit(EventKind::LimitExceeded { key, tenant, class, strategy, limit, current });
    }

    /// The gate lets the jobs of this class start again.
    pub(crate) fn tell_open(&mut self, gate: GateIx, class: ClassId, (strategy, since): Told) {
        let Some(head) = self.lanes.get(class).and_then(|lane| lane.head()) else { return };
        let waited = self.now.mono.saturating_sub(since);
        let limit = self.limits.limit_mut(self.limits.gate(gate).limit);
        limit.waits.get_or_insert_with(|| Box::new(Times::of_waits())).record(waited);
        let (key, tenant) = (limit.partition.key.clone(), limit.partition.tenant.clone());
        let job = self.job_ref(head, class);
        self.emit(EventKind::LimitReleased { key, tenant, strategy, job });
    }

    /// A gate that does not let a job of this class start now.
    pub(crate) fn closed_gate(&self, class: ClassId) -> Option<(GateIx, Closed)> {
        let gates = self.classes.slot(class).gates.iter();
        gates.copied().find_map(|gate| Some((gate, self.limits.opening(gate, self.now).closed?)))
    }

    /// The limits that a job of this class counts for, each once, with its numbers.
    fn limits_of(&self, class: ClassId) -> Vec<(LimitIx, LimitNumbers)> {
        let slot = self.classes.slot(class);
        let queue = self.queues.get(slot.queue).gate;
        let mut limits: Vec<(LimitIx, LimitNumbers)> = Vec::new();
        for gate in slot.gates.iter().copied().chain(queue) {
            let gate = self.limits.gate(gate);
            if !limits.iter().any(|(limit, _)| *limit == gate.limit) {
                limits.push((gate.limit, gate.numbers));
            }
        }
        limits
    }

    /// A job of this class starts: its limits are used.
    pub(crate) fn use_limits(&mut self, class: ClassId) {
        let slot = self.classes.slot(class);
        if slot.gates.is_empty() && self.queues.get(slot.queue).gate.is_none() {
            return;
        }
        for (ix, own) in self.limits_of(class) {
            let now = self.now;
            let limit = self.limits.limit_mut(ix);
            limit.start(own, now);
            limit.put_off = 0;
            self.unsettled.extend_from_slice(&limit.gates);
            if limit.is_timed() {
                let numbers = limit.numbers(own, now.wall);
                let rates: Vec<Rate> =
                    numbers.iter().flat_map(|n| [n.rate, n.throttle]).flatten().collect();
                let throttle = numbers.iter().find_map(|n| n.throttle);
                self.journal.started(ix, &rates, throttle, now.mono as i64);
            }
        }
    }

    /// A job of this class was active before the process began.
    pub(crate) fn count_active(&mut self, class: ClassId) {
        for (ix, _) in self.limits_of(class) {
            self.limits.limit_mut(ix).active += 1;
        }
    }

    /// A job of this class is not active any more.
    pub(crate) fn release_limits(&mut self, class: ClassId) {
        let slot = self.classes.slot(class);
        if slot.gates.is_empty() && self.queues.get(slot.queue).gate.is_none() {
            return;
        }
        for (ix, _) in self.limits_of(class) {
            let limit = self.limits.limit_mut(ix);
            limit.active = limit.active.saturating_sub(1);
            self.unsettled.extend_from_slice(&limit.gates);
        }
        let queue = self.classes.slot(class).queue;
        if self.queues.get(queue).gate.is_some() && !self.queues.get(queue).waiters.is_empty() {
            self.awake.push(queue);
        }
    }

    /// What a job of this class is held to cost its tenant.
    pub(crate) fn cost_of(&self, class: ClassId) -> u64 {
        match self.config.fairness.cost {
            Cost::Job => 1,
            Cost::Runtime => self.runtimes.estimate(&self.classes.slot(class).class.kind),
        }
    }

    /// An execution is over: its tenant pays what it really took.
    pub(crate) fn correct_charge(&mut self, active: &Active) {
        if self.config.fairness.cost == Cost::Job {
            return;
        }
        let took = active.ran_ms(self.now.mono).max(1);
        let slot = self.classes.slot(active.class);
        let (shard, tenant) = (slot.shard, slot.tenant);
        let kind = slot.class.kind.clone();
        self.runtimes.learn(&kind, took);
        let level = self.level_of(active.class);
        let turns = &self.shards.get(shard).turns;
        let Some(&(_, turn)) = turns.iter().find(|(at, _)| *at == level) else { return };
        let weight = self.effective_weight(tenant);
        let is = self.turns.get_mut(turn);
        is.tag = match took.checked_sub(active.charged) {
            Some(more) => is.tag.plus(Tag::step(more, weight)),
            None => is.tag.minus(Tag::step(active.charged - took, weight)),
        };
        is.since = is.tag;
        self.seat(turn);
    }
}
