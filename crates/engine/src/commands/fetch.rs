//! Fetching: claiming jobs for workers and recording each start.

use rota_model::mutation::{Claim, Mutation};
use rota_model::{ClassId, Ending, PoolName, Seq, State, WorkerId};

use crate::active::Active;
use crate::command::later;
use crate::config::Cost;
use crate::journal::Dispatcher;
use crate::queue::QueueIx;
use crate::scheduler::{AccountIx, FetchRequest, Owner, Pick, RequestedQueues, WaitingJob};
use crate::stats::Dispatches;
use crate::tenant::Tally;
use crate::{Claimed, Engine, EventKind, Fetch, Refusal, Reply};

/// Claims that memory is reserved for when the first is made; few fetches ask for more.
const RESERVED: usize = 128;

impl Engine {
    pub(crate) fn fetch(&mut self, fetch: Fetch) -> Reply {
        let resolved = self.with_queues(fetch.clone());
        let joined = match self.ensure_fetching_worker(&resolved) {
            Ok(pool) => pool,
            Err(refusal) => return Reply::Refused(refusal),
        };
        let claimed = self.claim_for(&resolved);
        let wait = fetch.wait.filter(|(_, ms)| claimed.is_empty() && *ms > 0 && !self.closing);
        if wait.is_some() {
            let asker = self.asker(fetch.tenant.as_ref());
            if let Err(reached) = self.scheduler.fetches().check_cap(asker) {
                return Reply::Refused(reached.into());
            }
        }
        if let (Some(worker), Some(pool)) = (&fetch.worker, &joined) {
            self.join_pool(worker, pool);
        }
        let Some((id, ms)) = wait else { return Reply::Fetched(claimed) };
        let deadline = self.now.mono.saturating_add(ms);
        self.wait_for_job(id, fetch, deadline);
        Reply::Waiting
    }

    /// Claims up to `fetch.count` jobs, within the room of the worker and the pool and until they have
    /// `fetch.max_bytes`. Each job is a separate decision.
    pub(crate) fn claim_for(&mut self, fetch: &Fetch) -> Vec<Claimed> {
        if self.maintenance.enabled() {
            return Vec::new();
        }
        let most = fetch.count.min(self.room_of(fetch));
        let Some(ask) = self.fetch_request(fetch) else { return Vec::new() };
        let mut claimed = Vec::new();
        self.record_request(&ask);
        let mut bytes = 0;
        while claimed.len() < most && (bytes < fetch.max_bytes || claimed.is_empty()) {
            let Some(job) = self.claim_one(&ask, fetch) else { break };
            bytes += self.active.get(job.seq).map_or(0, |active| active.size.bytes());
            if claimed.is_empty() {
                claimed.reserve_exact(most.min(RESERVED));
            }
            claimed.push(job);
        }
        self.scheduler.end_fetch();
        if !claimed.is_empty() {
            if let Some(id) = &fetch.worker {
                self.worker_changed(id);
            }
            self.check_pool_overload(&ask);
        }
        if claimed.len() < most
            && bytes < fetch.max_bytes
            && let Some(pool) = &ask.pool
        {
            // The pool has room and no waiting jobs, so the next overload is reported again.
            self.pool_watch.set_notified_full(pool, false);
        }
        claimed
    }

    fn claim_one(&mut self, ask: &FetchRequest, fetch: &Fetch) -> Option<Claimed> {
        loop {
            let pick = self.scheduler.next(ask)?;
            if self.deadlines.has_passed(pick.seq, self.wall()) {
                self.leave_lane(pick.seq, pick.class);
                self.expire(pick.seq, pick.class, State::Available);
                continue;
            }
            return self.start(&pick, ask, fetch);
        }
    }

    fn start(&mut self, pick: &Pick, ask: &FetchRequest, fetch: &Fetch) -> Option<Claimed> {
        let Pick { seq, class, queue, .. } = *pick;
        let charged = self.cost_of(class);
        let outcome = self.scheduler.started(pick, ask, charged)?;
        let job = outcome.job;
        self.count_start(class, job.size);
        let counted_at = self.scheduler.now().mono as i64;
        let mut counted = [None; 3];
        for (slot, (limit, numbers)) in counted.iter_mut().zip(outcome.timed) {
            self.journal.record_start(limit, numbers, counted_at);
            *slot = Some(limit);
        }
        self.count_dispatch(queue, class, seq, &job, ask);
        self.count_charge(queue, outcome.account, Dispatches::ONE);
        let policy = &self.classes.slot(class).class.policy;
        let (own_reservation, own_timeout) = (policy.visibility_ms, policy.timeout_ms);
        let asked = own_reservation.or(fetch.visibility_ms);
        let longest = self.config.longest_visibility_ms(fetch.tenant.as_ref());
        let reserved_ms = asked.unwrap_or(self.config.visibility_ms).min(longest);
        let timeout_ms = own_timeout.unwrap_or(self.config.timeout_ms);
        let (attempt, started) = (job.attempt + 1, self.wall());
        let (worker, pool) = (fetch.worker.clone(), ask.pool.clone());
        self.out.mutations.push(Mutation::Claim(Claim {
            seq,
            attempt,
            started,
            due: later(started, reserved_ms),
            reserved_ms,
            worker: worker.clone(),
            pool: pool.clone(),
        }));
        let active = Active {
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
            expires: self.deadlines.remove(seq).and_then(|live| live.expires),
            pool,
            charged,
            account: outcome.account,
            counted,
            counted_at,
            cancel_requested: false,
        };
        self.active.insert(seq, active);
        let event = self.job_ref(seq, class);
        self.emit(EventKind::Started { job: event, attempt, worker: worker.clone() });
        Some(Claimed {
            seq,
            attempt,
            fresh: job.fresh && self.seq_clock.knows(seq),
            started,
            timeout_ms,
            own_timeout: own_timeout.is_some(),
            reserved_ms,
            own_reservation: own_reservation.is_some(),
            reservation_cut: own_reservation.is_some_and(|asked_ms| asked_ms > reserved_ms),
            worker,
        })
    }

    /// The cost charged to the tenant when a job of this class starts.
    pub(crate) fn cost_of(&self, class: ClassId) -> u64 {
        match self.config.fairness.cost {
            Cost::Job => 1,
            Cost::Runtime => self.runtimes.estimate(&self.classes.slot(class).class.kind),
        }
    }

    fn count_dispatch(
        &mut self,
        ix: QueueIx,
        class: ClassId,
        seq: Seq,
        job: &WaitingJob,
        ask: &FetchRequest,
    ) {
        let slot = self.classes.slot(class);
        let (tenant, meter) = (slot.tenant, self.shards.get(slot.shard).meter);
        let own = i32::from(ask.only.is_some() && !ask.charge);
        self.tally(tenant, Tally { started: 1, own, ..Tally::default() });
        let wall = self.wall();
        if let Some(pool) = &ask.pool {
            self.pool_watch.dispatches(pool).add(Dispatches::ONE, wall);
            self.journal.dispatches.add(Dispatcher::Pool(pool.clone()), Dispatches::ONE);
        }
        // Tenants could invent pools without end, so theirs have no label of their own.
        let labelled = ask.pool.as_ref().filter(|pool| pool.owner_name().is_none());
        self.meters.count_dispatch(meter, labelled, own == 0, wall);
        self.queues.get_mut(ix).starves = false;
        let mut dispatch = Dispatches::ONE;
        let since = if job.fresh { self.seq_clock.accepted_at(seq) } else { job.since };
        if let Some(since) = since {
            let waited = wall.0.saturating_sub(since.0).max(0) as u64;
            self.meters.meter_mut(meter).record_wait(waited);
            (dispatch.waits, dispatch.waited_ms) = (1, waited);
        }
        self.record(ix, |minute| {
            minute.dispatched += 1;
            if dispatch.waits > 0 {
                minute.wait_ms.record(dispatch.waited_ms);
            }
        });
        self.queues.get_mut(ix).stats.dispatches.add(dispatch, wall);
        self.total.dispatches.add(dispatch, wall);
    }

    /// Counts a dispatch for the account that was charged, unless that is the queue's own account.
    fn count_charge(&mut self, ix: QueueIx, account: Option<AccountIx>, dispatches: Dispatches) {
        let wall = self.wall();
        let key = match account.map(|account| self.scheduler.owner(account)) {
            Some(Owner::Queue(_)) => return,
            Some(Owner::Shared(key)) => Some(key.clone()),
            None => None,
        };
        self.account_watch.elsewhere(ix).add(dispatches, wall);
        self.journal.dispatches.add(Dispatcher::Elsewhere(ix), dispatches);
        if let Some(key) = key {
            self.account_watch.shared(&key).add(dispatches, wall);
            self.journal.dispatches.add(Dispatcher::Shared(key), dispatches);
        }
    }

    /// Takes back the counts of a claim that did not reach its worker. Metrics keep it, because
    /// their counters must not go down.
    pub(crate) fn undo_dispatch(&mut self, active: &Active) {
        let (undone, wall) = (Dispatches::UNDONE, self.wall());
        let slot = self.classes.slot(active.class);
        let (ix, tenant, meter) = (slot.queue, slot.tenant, self.shards.get(slot.shard).meter);
        let own = if active.account.is_none() { -1 } else { 0 };
        self.tally(tenant, Tally { started: -1, own, ..Tally::default() });
        if own == 0 {
            self.meters.undo_start(meter, wall);
        }
        self.count_charge(ix, active.account, undone);
        if let Some(pool) = active.pool.as_ref().filter(|name| self.has_pool(name)) {
            self.pool_watch.dispatches(pool).add(undone, wall);
            self.journal.dispatches.add(Dispatcher::Pool(pool.clone()), undone);
        }
        self.record(ix, |minute| minute.dispatched -= 1);
        self.queues.get_mut(ix).stats.dispatches.add(undone, wall);
        self.total.dispatches.add(undone, wall);
    }

    /// Takes back the start of a claim from the rate limits that counted it.
    pub(crate) fn undo_limited_start(&mut self, active: &Active) {
        for limit in active.counted.into_iter().flatten() {
            if self.scheduler.limits().exists(limit) {
                self.scheduler.undo_start(limit, active.counted_at);
                self.journal.record_undone_start(limit);
            }
        }
    }

    fn has_pool(&self, name: &PoolName) -> bool {
        self.scheduler.pools().get(name).is_some()
    }

    /// Discards a job whose deadline has passed. It must have left its lane or timer.
    pub(crate) fn expire(&mut self, seq: Seq, class: ClassId, from: State) {
        let deadline = self.deadlines.get(seq).and_then(|live| live.expires);
        let event = EventKind::Expired { job: self.job_ref(seq, class), deadline, from };
        self.end(seq, class, Ending::Expired, None);
        self.emit(event);
    }

    /// Records when a worker last asked for these queues, or for one tenant's shards of them.
    fn record_request(&mut self, ask: &FetchRequest) {
        let now = Some(self.now.mono);
        match (&ask.queues, ask.only, &ask.pool) {
            (RequestedQueues::All, None, Some(pool)) => {
                self.pool_watch.record_request(pool, self.now.mono);
            }
            (_, only, pool) => {
                for ix in self.scheduler.requested_queues(ask) {
                    if let Some(tenant) = only {
                        if let Some(shard) = self.scheduler.shard(ix, tenant) {
                            self.shards.get_mut(shard).asked_at = now;
                        }
                        self.queues.get_mut(ix).asked_by_tenants = now;
                        continue;
                    }
                    let queue = self.queues.get_mut(ix);
                    queue.asked_at = now;
                    if pool.is_none() {
                        queue.asked_outside_pools = now;
                    }
                }
            }
        }
        self.check_pool_overload(ask);
    }

    /// Fills in the queues that the worker registered, if the fetch has neither queues nor a pool.
    pub(crate) fn with_queues(&self, mut fetch: Fetch) -> Fetch {
        if fetch.queues.is_empty() && self.pool_of(&fetch).is_none() {
            let worker = fetch.worker.as_ref().and_then(|id| self.workers.get(id));
            let registered = worker.map_or(&[][..], |worker| &worker.row.about.queues);
            fetch.queues = self.resolve_queue_names(registered, &fetch);
        }
        fetch
    }

    /// The refusal for a waiting fetch that is no longer valid because its pool was deleted, or closed
    /// to its tenant.
    pub(crate) fn pool_is_gone(&self, fetch: &Fetch) -> Option<Refusal> {
        let pools = self.scheduler.pools();
        match &fetch.pool {
            Some(pool) if pools.resolve(fetch.tenant.as_ref(), pool).is_none() => {
                Some(Refusal::UnknownPool { pool: pool.clone() })
            }
            None if self.pool_of(fetch).is_none()
                && self.with_queues(fetch.clone()).queues.is_empty() =>
            {
                Some(Refusal::NoQueues)
            }
            _ => None,
        }
    }

    /// Registers the worker of a fetch if it is new, and checks worker, pool and queues. The worker
    /// is recorded even if the fetch is then refused; it joins no pool in that case. Returns the pool
    /// that the fetch names, as the engine calls it.
    fn ensure_fetching_worker(&mut self, fetch: &Fetch) -> Result<Option<PoolName>, Refusal> {
        let tenant = fetch.tenant.as_ref();
        if fetch.queues.is_empty() && self.pool_of(fetch).is_none() && fetch.pool.is_none() {
            return Err(Refusal::NoQueues);
        }
        if let Some(id) = &fetch.worker {
            self.ensure_worker(id, tenant, &fetch.queues, None)?;
        }
        let named = match (&fetch.pool, &fetch.worker) {
            (Some(pool), Some(id)) => Some(self.pool_to_join(id, tenant, pool)?),
            (Some(pool), None) => {
                let found = self.scheduler.pools().resolve(tenant, pool);
                Some(found.ok_or_else(|| Refusal::UnknownPool { pool: pool.clone() })?)
            }
            (None, _) => None,
        };
        match named.clone().or_else(|| self.pool_of(fetch)) {
            Some(pool) => self.check_queues_in_pool(fetch, &pool)?,
            None => self.check_ratio(fetch)?,
        }
        Ok(named)
    }

    fn check_queues_in_pool(&self, fetch: &Fetch, name: &PoolName) -> Result<(), Refusal> {
        let Some(pool) = self.scheduler.pools().get(name) else { return Ok(()) };
        match fetch.queues.iter().find(|queue| !pool.has(queue)) {
            Some(queue) => Err(Refusal::NotInPool { pool: name.clone(), queue: queue.clone() }),
            None => Ok(()),
        }
    }

    /// Without a pool, the server's guaranteed ratio applies to the queues of the fetch.
    fn check_ratio(&self, fetch: &Fetch) -> Result<(), Refusal> {
        let queues = fetch.queues.len();
        match self.config.starvation.promises_too_much(queues) {
            true => Err(Refusal::RatioTooLarge { queues }),
            false => Ok(()),
        }
    }

    fn room_of(&self, fetch: &Fetch) -> usize {
        let pool = self.pool_of(fetch);
        let pool = pool.and_then(|name| self.scheduler.pools().get(&name));
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
