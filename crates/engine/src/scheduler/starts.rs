//! Starts and ends of jobs: what they charge and count, and whom they let start next.

use rota_model::{ClassId, LimitNumbers, PoolName};

use super::Scheduler;
use super::account::{AccountIx, StandingIx};
use super::lane::WaitingJob;
use super::limits::{Closed, GateIx, LimitIx};
use super::pick::{FetchRequest, Pick, Reason, RequestedQueues};
use super::tag::Tag;
use super::turn::TurnIx;
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

/// Windows in which a start is recorded at the cost of one step.
const WINDOWS_IN_A_STEP: usize = 4;

/// What a start did.
pub(crate) struct Started {
    pub job: WaitingJob,
    /// The account that was charged.
    pub account: Option<AccountIx>,
    /// Limits that record the times of starts, with the numbers that applied.
    pub timed: Vec<(LimitIx, LimitNumbers)>,
}

/// An execution that is over.
pub(crate) struct Ended<'a> {
    pub class: ClassId,
    pub pool: Option<&'a PoolName>,
    /// If the tenant was charged in advance: what it was charged, and what the execution cost.
    pub correction: Option<Correction>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Correction {
    pub account: Option<AccountIx>,
    pub charged: u64,
    pub cost: u64,
}

impl Scheduler {
    /// Starts a picked job. `None` if the job is gone.
    pub fn started(&mut self, pick: &Pick, request: &FetchRequest, cost: u64) -> Option<Started> {
        let Pick { class, turn, gate, queue, .. } = *pick;
        let turn_state = self.turns.get(turn);
        let (tenant, level) = (turn_state.tenant, turn_state.level);
        let step = Tag::step(cost, self.tenant(tenant).weight);
        let account = pick.entry_ix.map(|entry_ix| self.charge(pick, request, entry_ix, step));
        let timed = self.use_limits(pick, level, step);
        let (_, job) = self.pop(class)?;
        if !self.deferrals.is_empty() {
            self.limits_of(class).for_each(|(limit, _)| self.end_deferrals_at(limit));
        }
        self.notify_rescheduled_start(pick.seq, class);
        let queue_state = self.queue_mut(queue);
        queue_state.active += 1;
        queue_state.charged = account.or(queue_state.charged);
        if !queue_state.may_dispatch() {
            // Others may be deferred for jobs of this queue.
            self.end_deferrals();
        }
        self.tenants[tenant.0 as usize].active += 1;
        if let Some(pool) = &request.pool {
            self.pools.started(pool, tenant);
        }
        let key = gate.map(|gate| self.limits.gate(gate).limit);
        if let Some((limit, gate)) = key.zip(gate) {
            self.offer_used(limit, queue, gate, turn);
        }
        if self.turns.contains(turn) {
            self.yield_offers(turn, key);
            self.place_turn(turn);
        }
        self.count_dispatch(request, queue);
        Some(Started { job, account, timed })
    }

    /// Charges the account of a ring entry for a picked job, advances the account's round, and returns
    /// the account.
    fn charge(
        &mut self,
        pick: &Pick,
        request: &FetchRequest,
        entry_ix: usize,
        step: u128,
    ) -> AccountIx {
        let turn_state = self.turns.get(pick.turn);
        let (standing, level) = (turn_state.ring_entries[entry_ix].standing, turn_state.level);
        let account = self.accounts.get(standing).account;
        // A tenant's own workers may serve it while others cannot.
        self.lift_to_round(standing);
        let start = self.accounts.get(standing).tag;
        let chosen_from_all =
            entry_ix == 0 || pick.reason == Reason::Turn && self.requests_all_queues(request);
        let in_turn = pick.reason != Reason::Tenant;
        self.accounts.charge(standing, step, in_turn && chosen_from_all);
        if in_turn && entry_ix > 0 {
            self.queue_of_tenant_served(request, standing, pick.queue);
        }
        if in_turn && !chosen_from_all {
            self.lift_round(request, level, start);
        }
        account
    }

    /// Counts a dispatch for guaranteed parts. What a tenant's own workers take from shared queues
    /// counts in their rotations only.
    fn count_dispatch(&mut self, request: &FetchRequest, queue: QueueIx) {
        let mono = self.now.mono;
        let of_shared_workers = request.only.is_none() || self.rules.queues_per_tenant;
        match request.rotation {
            Some(rotation) => self.rotations.served(rotation, queue, mono),
            None if of_shared_workers => {
                let parts = self.queue(queue).parts;
                parts.into_iter().for_each(|ix| self.rotations.served_alone(ix, queue, mono));
            }
            None => return,
        }
        self.count_chances(request, queue);
    }

    /// A job started by an offer: its turn is back in line, and so are the turns that have yielded.
    fn offer_used(&mut self, limit: LimitIx, queue: QueueIx, gate: GateIx, turn: TurnIx) {
        self.waitlist(limit, queue).end_yields();
        if self.turns.contains(turn) {
            if self.keeps_offer(limit, queue, gate, turn) {
                return;
            }
            let waits = self.turns.get(turn).groups.contains(&gate);
            if waits && let Some(closed) = self.limits.opening(gate, self.now).closed {
                self.close_group(turn, gate, &closed, false);
            }
            if self.waitlist(limit, queue).has_offer_or_yielded(turn) {
                self.retract(limit, turn);
            }
        }
        self.refresh(limit, queue);
    }

    /// Whether a turn that used its offer gets another one at once: nobody else is in line, and more
    /// jobs may start.
    fn keeps_offer(&mut self, limit: LimitIx, queue: QueueIx, gate: GateIx, turn: TurnIx) -> bool {
        let free = self.limits.opening(gate, self.now).free;
        let must_park = self.must_park(turn);
        let list = self.waitlist(limit, queue);
        let offered = list.offered_group(turn).filter(|(_, offered)| *offered == gate);
        let Some((lane, _)) = offered else { return false };
        if must_park || list.deferred || list.offers() > free || list.first().is_some() {
            return false;
        }
        let rank = self.rank_of(turn, limit, lane);
        self.waitlist(limit, queue).set_rank(turn, gate, true, rank);
        true
    }

    /// Charges the queue among the tenant's queues, where the tenant's share is counted over all of
    /// them.
    fn queue_of_tenant_served(
        &mut self,
        request: &FetchRequest,
        standing: StandingIx,
        queue: QueueIx,
    ) {
        let step = request.rotation.and_then(|rotation| self.rotations.get(rotation).step(queue));
        if let Some(step) = step {
            self.accounts.queue_served(standing, queue, step);
        }
    }

    /// Whether a fetch can be served from all queues of its rotation.
    fn requests_all_queues(&self, request: &FetchRequest) -> bool {
        match (&request.queues, request.rotation) {
            (RequestedQueues::Some(queues), Some(rotation)) => {
                queues.len() >= self.rotations.get(rotation).queues().len()
            }
            _ => true,
        }
    }

    /// Advances the round after a tenant was chosen from some of the account's queues: not beyond the
    /// first tag in all of them.
    fn lift_round(&mut self, request: &FetchRequest, level: i32, start: Tag) {
        let (Some(account), Some(rotation)) = (request.account, request.rotation) else { return };
        let queues = self.rotations.get(rotation).queues().len();
        // With many queues, all are visited only now and then.
        if !self.accounts.is_round_due(account, queues) {
            return;
        }
        let mut round = start;
        for position in 0..queues {
            self.steps += 1;
            let queue = self.rotations.get(rotation).queues()[position];
            let Some(entry_ix) = self.queue(queue).member(account) else { continue };
            if self.queue(queue).may_dispatch() {
                let first = self.first_tag(queue, entry_ix, level);
                round = first.map_or(round, |first| round.min(first));
            }
        }
        self.accounts.lift_round(account, level, round);
    }

    /// The smallest tag at a level of a queue.
    fn first_tag(&mut self, queue: QueueIx, entry_ix: usize, level: i32) -> Option<Tag> {
        loop {
            let ring = self.queue(queue).members[entry_ix].rings.get(&level)?;
            let (key, turn) = ring.first()?;
            if self.is_up_to_date(turn, entry_ix, key) {
                return Some(key.0);
            }
        }
    }

    /// An execution is over, whatever its outcome.
    pub fn ended(&mut self, ended: &Ended<'_>) {
        let rules = self.class(ended.class);
        let (queue, tenant) = (rules.queue, rules.tenant);
        for (limit, _) in self.limits_of(ended.class) {
            let limit_state = self.limits.limit_mut(limit);
            limit_state.active = limit_state.active.saturating_sub(1);
            self.slot_freed(limit);
        }
        self.count_active(ended.class, -1);
        let queue_state = self.queue_mut(queue);
        queue_state.active = queue_state.active.saturating_sub(1);
        if queue_state.cap.is_some() {
            self.queue_ready(queue);
            self.all_tenant_fetches_ready(queue);
        }
        let owner = &mut self.tenants[tenant.0 as usize];
        owner.active = owner.active.saturating_sub(1);
        if !owner.parked.is_empty() && !self.is_at_cap(tenant) {
            self.place_parked_turns(tenant);
        }
        if let Some(correction) = ended.correction {
            self.correct(ended.class, correction);
        }
        if let Some(pool) = ended.pool {
            self.leave_pool(pool, self.class(ended.class).tenant);
        }
    }

    /// Counts a job that was active before a restart.
    pub fn was_active(&mut self, class: ClassId, pool: Option<&PoolName>) {
        for (limit, _) in self.limits_of(class) {
            self.limits.limit_mut(limit).active += 1;
        }
        self.count_active(class, 1);
        let rules = self.class(class);
        let (queue, tenant) = (rules.queue, rules.tenant);
        self.queue_mut(queue).active += 1;
        self.tenants[tenant.0 as usize].active += 1;
        if let Some(pool) = pool {
            self.pools.started(pool, tenant);
        }
    }

    /// Corrects a charge made in advance to what the execution cost.
    fn correct(&mut self, class: ClassId, correction: Correction) {
        let rules = self.class(class);
        let (queue, tenant) = (rules.queue, rules.tenant);
        let level = self.level_of(class);
        let account = correction.account.unwrap_or(self.queue(queue).members[0].account);
        if self.queue(queue).member(account).is_none() {
            // The account was closed, and its index may be reused.
            return;
        }
        let Some(standing) = self.accounts.find(account, tenant, level) else { return };
        let weight = self.tenant(tenant).weight;
        let more = correction.cost.saturating_sub(correction.charged);
        let less = correction.charged.saturating_sub(correction.cost);
        self.accounts.correct(standing, Tag::step(more, weight), Tag::step(less, weight));
        self.turns_of(tenant).into_iter().for_each(|turn| self.place_turn(turn));
    }

    /// The limits that a job of this class counts for, each once, with the gate it passes: of its key,
    /// its type and its queue.
    fn limits_of(&self, class: ClassId) -> impl Iterator<Item = (LimitIx, GateIx)> + use<> {
        let rules = self.class(class);
        let queue = self.queue(rules.queue).gate;
        let mut limits = [None; 3];
        for (n, gate) in self.counting_gates_of(class).chain(queue).enumerate() {
            let limit = self.limits.gate(gate).limit;
            if !limits[..n].iter().flatten().any(|(other, _)| *other == limit) {
                limits[n] = Some((limit, gate));
            }
        }
        limits.into_iter().flatten()
    }

    /// Counts a start at the job's limits and charges its tenant at their keys.
    fn use_limits(&mut self, pick: &Pick, level: i32, step: u128) -> Vec<(LimitIx, LimitNumbers)> {
        let class = pick.class;
        let key = pick.gate.map(|gate| self.limits.gate(gate).limit);
        self.count_active(class, 1);
        let mut timed = Vec::new();
        let (now, tenant) = (self.now, self.class(class).tenant);
        let job_step = self.job_step_of(tenant);
        for (ix, gate) in self.limits_of(class) {
            let job_numbers = self.limits.gate(gate).numbers;
            let limit = self.limits.limit_mut(ix);
            limit.start(job_numbers, now);
            self.steps += (limit.windows() / WINDOWS_IN_A_STEP) as u64;
            limit.times_rescheduled = 0;
            if limit.partition.tenant.is_none() {
                let most = pick.key_round.filter(|_| key == Some(ix)).unwrap_or(Tag(u128::MAX));
                let round = (pick.reason != Reason::Tenant).then_some(most);
                limit.order.charge(level, tenant, step, job_step, round);
            }
            if limit.is_timed() {
                timed.push((ix, limit.numbers(job_numbers, now.wall)));
            }
            self.may_open_early(ix);
        }
        timed
    }

    /// Counts active jobs by type and by the key they name, whether or not these have limits now.
    fn count_active(&mut self, class: ClassId, by: i64) {
        let rules = self.classes[class.0 as usize].as_ref().expect("a job's class is known");
        let of_type = self.types.get_mut(rules.kind);
        of_type.active = of_type.active.saturating_add_signed(by);
        for gate in &rules.gates {
            let limit = self.limits.gate(*gate).limit;
            let limit = self.limits.limit_mut(limit);
            limit.named = limit.named.saturating_add_signed(by);
            if !rules.names_home {
                limit.named_elsewhere = limit.named_elsewhere.saturating_add_signed(by);
            }
        }
    }

    /// A gate that keeps jobs of this class from starting; a paused one, if there is any.
    pub(super) fn closed_gate(&self, class: ClassId) -> Option<(GateIx, Closed)> {
        let closed = || {
            let gates = self.gates_of(class);
            gates.filter_map(|gate| Some((gate, self.limits.opening(gate, self.now).closed?)))
        };
        closed().find(|(_, closed)| closed.paused).or_else(|| closed().next())
    }

    fn leave_pool(&mut self, pool: &PoolName, tenant: TenantIx) {
        if self.pools.ended(pool, tenant) {
            self.to_serve_pools.insert(pool.clone());
        }
    }
}
