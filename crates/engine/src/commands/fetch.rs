//! Handing out jobs.

use rota_model::mutation::{Claim, Mutation};
use rota_model::{ClassId, Ending, QueueName, Seq, State, WorkerId};

use super::pool::Plan;
use crate::active::Active;
use crate::command::later;
use crate::limit::{Closed, GateIx};
use crate::sched::{QueueIx, Seat, ShardIx, TurnIx, Waiting};
use crate::tenant::Tally;
use crate::{Claimed, Engine, EventKind, Fetch, Refusal, Reply};

impl Engine {
    pub(crate) fn fetch(&mut self, mut fetch: Fetch) -> Reply {
        if fetch.queues.is_empty() && self.pool_of(&fetch).is_none() {
            fetch.queues = self.registered_queues(&fetch);
        }
        if let Err(refusal) = self.meet_fetching_worker(&fetch) {
            return Reply::Refused(refusal);
        }
        let claimed = self.claim_for(&fetch);
        match fetch.wait {
            Some((id, ms)) if claimed.is_empty() && ms > 0 && !self.closing => {
                self.start_waiting(id, fetch, ms);
                Reply::Waiting
            }
            _ => Reply::Fetched(claimed),
        }
    }

    /// As many jobs as there are, up to what was asked for and what worker and pool have room for.
    /// Each is a decision of its own.
    pub(crate) fn claim_for(&mut self, fetch: &Fetch) -> Vec<Claimed> {
        let mut claimed = Vec::new();
        if self.maintenance.enabled() {
            return claimed;
        }
        let most = fetch.count.min(self.room_of(fetch));
        let Some(plan) = self.plan(fetch) else { return claimed };
        self.note_asked(&plan, fetch.tenant.as_ref());
        while claimed.len() < most {
            let Some(job) = self.claim_by(&plan, fetch) else { break };
            claimed.push(job);
        }
        claimed
    }

    /// The next job of a queue for this fetch.
    pub(crate) fn claim_next(
        &mut self,
        ix: QueueIx,
        plan: &Plan,
        fetch: &Fetch,
    ) -> Option<Claimed> {
        let only = match &fetch.tenant {
            Some(id) => Some(self.shards.find(ix, self.tenants.find(id)?)?),
            None => None,
        };
        loop {
            self.settle_gates();
            if !self.queues.get(ix).may_dispatch() || !self.queue_is_open(ix) {
                return None;
            }
            let turn = match only {
                Some(shard) => {
                    self.let_shard_in(shard);
                    self.first_turn_of(shard)?
                }
                None => {
                    self.let_first_in(ix);
                    self.queues.get(ix).first_rank()?.2
                }
            };
            if self.is_at_cap(self.tenant_of(turn)) {
                self.seat(turn);
                continue;
            }
            let &(_, _, class) = self.turns.get(turn).lanes.first()?;
            if let Some((gate, closed)) = self.closed_gate(class) {
                self.turn_away(class, turn, gate, closed);
                continue;
            }
            if self.reunite(class, turn) {
                continue;
            }
            let (seq, job) = self.pop_lane(class)?;
            if self.watch.is_over(seq, self.wall()) {
                self.expire(seq, class);
                self.seat(turn);
                continue;
            }
            let cost = self.cost_of(class);
            self.charge(turn, cost);
            self.give_up_places(turn, class);
            self.count_dispatch(ix, class, seq, &job);
            let claimed = self.start((seq, class), &job, cost, plan, fetch);
            self.note_served(turn);
            self.seat(turn);
            return Some(claimed);
        }
    }

    /// One tenant's turn that comes first.
    fn first_turn_of(&self, shard: ShardIx) -> Option<TurnIx> {
        let turns = self.shards.get(shard).turns.iter();
        let served = turns.filter(|(_, turn)| matches!(self.turns.get(*turn).seat, Seat::Ring(_)));
        served.max_by_key(|(level, _)| *level).map(|&(_, turn)| turn)
    }

    /// A lane whose turn it is may not start its job.
    fn turn_away(&mut self, class: ClassId, turn: TurnIx, gate: GateIx, closed: Closed) {
        self.leave_its_turn(class);
        if self.waits_at_limits(class) {
            self.park(class, gate, turn, Some(closed));
        } else {
            self.sweep(class, gate, &closed);
        }
        self.seat(turn);
    }

    fn count_dispatch(&mut self, ix: QueueIx, class: ClassId, seq: Seq, job: &Waiting) {
        let tenant = self.classes.slot(class).tenant;
        self.tally(tenant, Tally { started: 1, ..Tally::default() });
        let queue = self.queues.get_mut(ix);
        queue.starves = false;
        queue.stats.minute.dispatched += 1;
        self.total.minute.dispatched += 1;
        let since = if job.fresh { self.seq_clock.accepted_at(seq) } else { job.since };
        if let Some(since) = since {
            let waited = self.wall().0.saturating_sub(since.0).max(0) as u64;
            self.queues.get_mut(ix).stats.minute.wait_ms.record(waited);
            self.total.minute.wait_ms.record(waited);
            self.meter(class).began_after(waited);
        }
    }

    fn start(
        &mut self,
        (seq, class): (Seq, ClassId),
        job: &Waiting,
        charged: u64,
        plan: &Plan,
        fetch: &Fetch,
    ) -> Claimed {
        let (attempt, fresh) = (job.attempt + 1, job.fresh);
        let slot = self.classes.slot(class);
        let policy = slot.class.policy.clone();
        let asked = policy.visibility_ms.or(fetch.visibility_ms);
        let reserved_ms =
            asked.unwrap_or(self.config.visibility_ms).min(self.config.max_visibility_ms);
        let timeout_ms = policy.timeout_ms.unwrap_or(self.config.timeout_ms);
        let started = self.wall();
        let worker = fetch.worker.clone();
        self.out.mutations.push(Mutation::Claim(Claim {
            seq,
            attempt,
            started,
            due: later(started, reserved_ms),
            reserved_ms,
            worker: worker.clone(),
        }));
        let expires = self.watch.forget(seq).and_then(|live| live.expires);
        self.use_limits(class);
        let pool = self.enter_pool(plan);
        let meter = self.shards.get(self.classes.slot(class).shard).meter;
        self.meters.count_dispatch(meter, pool.as_ref(), started);
        self.active.insert(
            seq,
            Active {
                class,
                attempt,
                pauses: job.pauses,
                size: job.size,
                started,
                started_mono: self.now.mono as i64,
                worker: worker.clone(),
                reserved_ms,
                reserved_until: self.now.mono.saturating_add(reserved_ms),
                times_out: self.now.mono.saturating_add(timeout_ms),
                expires,
                pool,
                charged,
            },
        );
        self.count_in(class, State::Active, job.size);
        self.note_taken(plan, worker.as_ref());
        let event =
            EventKind::Started { job: self.job_ref(seq, class), attempt, worker: worker.clone() };
        self.emit(event);
        Claimed {
            seq,
            attempt,
            fresh: fresh && self.seq_clock.accepted_at(seq).is_some(),
            started,
            timeout_ms,
            own_timeout: policy.timeout_ms.is_some(),
            reserved_ms,
            own_reservation: policy.visibility_ms.is_some(),
            worker,
        }
    }

    /// The deadline of a job that has left its lane or timer has passed.
    pub(crate) fn expire(&mut self, seq: Seq, class: ClassId) {
        let deadline = self.watch.get(seq).and_then(|live| live.expires);
        let event = EventKind::Expired { job: self.job_ref(seq, class), deadline };
        self.end(seq, class, Ending::Expired, None);
        self.emit(event);
    }

    /// What the worker said at its registration that it serves.
    fn registered_queues(&self, fetch: &Fetch) -> Vec<QueueName> {
        let worker = fetch.worker.as_ref().and_then(|id| self.workers.get(id));
        worker.map_or_else(Vec::new, |worker| self.meant_by(&worker.row.about.queues, fetch))
    }

    /// A fetch names its worker: it is known from now on, and it stays in its pool. With one that is
    /// refused it is heard of, and joins none.
    fn meet_fetching_worker(&mut self, fetch: &Fetch) -> Result<(), Refusal> {
        if fetch.queues.is_empty() && self.pool_of(fetch).is_none() {
            return Err(Refusal::NoQueues);
        }
        if let Some(id) = &fetch.worker {
            self.meet_for(id, fetch.tenant.as_ref())?;
            fetch.pool.as_ref().map_or(Ok(()), |pool| self.may_join(id, pool))?;
        }
        if let Some(name) = fetch.pool.clone().or_else(|| self.pool_of(fetch)) {
            let unknown = || Refusal::UnknownPool { pool: name.clone() };
            let pool = self.pools.get(&name).ok_or_else(unknown)?;
            if let Some(queue) = fetch.queues.iter().find(|queue| !pool.has(queue)) {
                return Err(Refusal::NotInPool { pool: name, queue: queue.clone() });
            }
        }
        if let (Some(id), Some(pool)) = (&fetch.worker, &fetch.pool) {
            self.join_pool(id, pool);
        }
        Ok(())
    }

    fn room_of(&self, fetch: &Fetch) -> usize {
        let pool = self.pool_of(fetch).and_then(|name| self.pools.get(&name));
        let in_pool =
            pool.map_or(usize::MAX, |pool| usize::try_from(pool.room()).unwrap_or(usize::MAX));
        fetch.worker.as_ref().map_or(in_pool, |id| self.room_of_worker(id).min(in_pool))
    }

    pub(crate) fn room_of_worker(&self, id: &WorkerId) -> usize {
        match self.workers.get(id) {
            Some(worker) if worker.is_quieted() => 0,
            Some(worker) => worker.room(self.active.count_held_by(id)),
            None => usize::MAX,
        }
    }
}
