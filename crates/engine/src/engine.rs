//! The engine's state, the dispatch of commands, and the state changes that commands share.

use std::collections::VecDeque;

use bytes::Bytes;
use rota_model::mutation::{Finish, Mutation, Ready, RowKind, Undo};
use rota_model::{
    ClassId, Ending, ErrorRow, IdKey, Live, Millis, QueueName, Seq, SplitMix64, State, TenantId,
};

use crate::account_watch::AccountWatch;
use crate::active::{Active, Actives};
use crate::admission::{RoomChecks, WaitingEnqueues};
use crate::caps::Asker;
use crate::classes::Classes;
use crate::command::later;
use crate::commands::OpenIntervals;
use crate::config::Cost;
use crate::cron::Crons;
use crate::deadlines::Deadlines;
use crate::hasher;
use crate::idle::{Idle, IdleCandidate};
use crate::idle_limits::IdleLimits;
use crate::inspect::Maintenance;
use crate::journal::Journal;
use crate::limit_owners::LimitOwners;
use crate::limit_watch::LimitWatch;
use crate::meters::{Meter, Meters};
use crate::noisy_tenants::NoiseDetector;
use crate::pool_watch::PoolWatch;
use crate::queue::{QueueIx, QueueRow, Queues};
use crate::runtimes::Runtimes;
use crate::scheduler::limits::{LimitRow, Partition};
use crate::scheduler::{Correction, Ended, PoolChange, Reconfigured, Scheduler, Waiting};
use crate::shard::Shards;
use crate::stats::{SeqClock, Stats};
use crate::tenant::{RuleChange, Tally, TenantIx, Tenants};
use crate::timers::{Timer, Timers};
use crate::worker::Workers;
use crate::{
    Command, Config, ConfigOrigin, Effects, Event, EventKind, Failure, JobRef, Now, Refusal, Reply,
    WaiterId,
};

/// The whole state. It can be rebuilt from a store.
pub struct Engine {
    pub(crate) config: Config,
    pub(crate) now: Now,
    /// The only source of randomness; set by each command.
    pub(crate) entropy: SplitMix64,
    pub(crate) next_seq: Seq,
    pub(crate) id_key: IdKey,
    pub(crate) classes: Classes,
    pub(crate) queues: Queues,
    pub(crate) active: Actives,
    pub(crate) timers: Timers,
    pub(crate) deadlines: Deadlines,
    pub(crate) workers: Workers,
    pub(crate) tenants: Tenants,
    pub(crate) shards: Shards,
    pub(crate) scheduler: Scheduler,
    pub(crate) runtimes: Runtimes,
    pub(crate) meters: Meters,
    pub(crate) noise_detector: NoiseDetector,
    pub(crate) pool_watch: PoolWatch,
    pub(crate) account_watch: AccountWatch,
    pub(crate) limit_watch: LimitWatch,
    pub(crate) limit_owners: LimitOwners,
    pub(crate) idle_limits: IdleLimits,
    pub(crate) journal: Journal,
    pub(crate) idle: Idle,
    pub(crate) rule_changes: VecDeque<RuleChange>,
    pub(crate) crons: Crons,
    /// The process is about to end: nothing may wait.
    pub(crate) closing: bool,
    pub(crate) maintenance: Maintenance,
    pub(crate) total: Stats,
    /// The current minute.
    pub(crate) minute: Option<Millis>,
    pub(crate) open_intervals: OpenIntervals,
    pub(crate) seq_clock: SeqClock,
    pub(crate) waiting_enqueues: WaitingEnqueues,
    pub(crate) room_checks: RoomChecks,
    pub(crate) out: Effects,
}

impl Engine {
    /// An empty engine. `seed` is for its hash tables.
    #[must_use]
    pub fn new(config: Config, seed: u64) -> Self {
        let hasher = hasher::seeded(seed);
        let caps = config.caps;
        let mut engine = Self {
            meters: Meters::new(config.metrics),
            scheduler: Scheduler::new(&config, &hasher),
            config,
            now: Now::default(),
            entropy: SplitMix64(seed),
            next_seq: Seq(1),
            id_key: IdKey::default(),
            classes: Classes::new(hasher.clone()),
            queues: Queues::new(hasher.clone(), caps.queues),
            active: Actives::new(hasher.clone()),
            timers: Timers::default(),
            deadlines: Deadlines::new(hasher.clone()),
            workers: Workers::new(caps.workers),
            tenants: Tenants::default(),
            shards: Shards::default(),
            runtimes: Runtimes::new(hasher.clone()),
            noise_detector: NoiseDetector::default(),
            pool_watch: PoolWatch::default(),
            account_watch: AccountWatch::default(),
            limit_watch: LimitWatch::default(),
            limit_owners: LimitOwners::new(caps.rate_limits),
            idle_limits: IdleLimits::default(),
            journal: Journal::default(),
            crons: Crons::new(caps.schedules, caps.schedule_runs),
            idle: Idle::default(),
            rule_changes: VecDeque::new(),
            closing: false,
            maintenance: Maintenance::default(),
            total: Stats::default(),
            minute: None,
            open_intervals: OpenIntervals::default(),
            seq_clock: SeqClock::default(),
            waiting_enqueues: WaitingEnqueues::new(caps.waiting_enqueues),
            room_checks: RoomChecks::default(),
            out: Effects::default(),
        };
        engine.load_config();
        engine
    }

    /// Applies a command at the time of the last tick. `entropy` is the only randomness in it.
    pub fn apply(&mut self, entropy: u64, command: Command) -> Reply {
        self.entropy = SplitMix64(entropy);
        self.scheduler.begin_upkeep();
        let reply = match command {
            Command::Enqueue(enqueue) => self.enqueue(enqueue),
            Command::Fetch(fetch) => self.fetch(fetch),
            Command::StopWaiting(waiter) => self.stop_waiting(waiter),
            Command::EndWaiting => self.end_waiting(),
            Command::Undelivered(claims) => self.undelivered(&claims),
            Command::Settle(all) => self.settle(all),
            Command::Beat(beat) => self.beat(beat),
            Command::Register(registration) => self.register(registration),
            Command::Deregister(worker, tenant) => self.deregister(&worker, tenant.as_ref()),
            Command::DropStaleWorker(worker) => self.remove_stale_worker(&worker),
            Command::Direct(worker, directive) => self.direct(&worker, directive),
            Command::Cancel(targets) => self.cancel(&targets),
            Command::Activate(targets) => self.activate(&targets),
            Command::Retry(targets) => self.retry(&targets),
            Command::Delete(targets) => self.delete(&targets),
            Command::Forget(overdue) => self.forget(&overdue),
            Command::PauseQueue(name) => self.pause_queue(name),
            Command::ResumeQueue(name) => self.resume_queue(name),
            Command::ConfigureQueue(name, settings) => self.configure_queue(name, settings),
            Command::DeleteQueue(name) => self.delete_queue(&name),
            Command::PutCron(spec) => self.put_cron(&spec),
            Command::RemoveCron(name) => self.remove_cron(&name),
            Command::EnableCron(name, enabled) => self.enable_cron(&name, enabled),
            Command::Maintain { enabled, reason, expected_ms } => {
                self.maintain(enabled, reason, expected_ms)
            }
            Command::PauseShard(tenant, queue) => self.pause_shard(&tenant, &queue, true),
            Command::ResumeShard(tenant, queue) => self.pause_shard(&tenant, &queue, false),
            Command::PutTenant(tenant, change) => self.put_tenant(&tenant, change),
            Command::DeleteTenant(tenant, reason) => self.delete_tenant(&tenant, reason),
            Command::ReleaseTenant(tenant, reason) => self.release_tenant(&tenant, reason),
            Command::PutPool(name, pool) => self.put_pool(name, *pool),
            Command::RemovePool(name) => self.remove_pool(&name),
            Command::PutLimit(put) => self.put_limit(*put),
            Command::ClearLimit(key, tenant) => self.clear_limit(key, tenant),
            Command::Tick(now) => {
                self.advance(now);
                Reply::Done
            }
        };
        self.sweep_a_few();
        self.retry_waiting_enqueues();
        self.serve_waiting_fetches();
        self.emit_notices();
        reply
    }

    /// Takes the effects of the commands since the last call.
    pub fn take_effects(&mut self) -> Effects {
        let mut effects = Effects::default();
        effects.woken = self.move_effects(&mut effects.mutations, &mut effects.events);
        effects
    }

    /// The same, but appends to existing vectors to avoid allocations. Returns the woken waiters.
    pub fn move_effects(
        &mut self,
        mutations: &mut Vec<Mutation>,
        events: &mut Vec<Event>,
    ) -> Vec<(WaiterId, Reply)> {
        self.classes.write_counts(&mut self.out.mutations);
        mutations.append(&mut self.out.mutations);
        events.append(&mut self.out.events);
        std::mem::take(&mut self.out.woken)
    }

    /// The sequence number of the next job.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.next_seq
    }

    /// The latest time seen.
    #[must_use]
    pub fn now(&self) -> Now {
        self.now
    }

    pub(crate) fn wall(&self) -> Millis {
        self.now.wall
    }

    pub(crate) fn emit(&mut self, kind: EventKind) {
        let at = self.now.wall;
        self.out.events.push(Event { at, kind });
    }

    pub(crate) fn job_ref(&self, seq: Seq, class: ClassId) -> JobRef {
        JobRef { seq, id: None, class: self.classes.slot(class).class.clone() }
    }

    pub(crate) fn put(&mut self, kind: RowKind, name: &str, row: &impl serde::Serialize) {
        let json = serde_json::to_vec(row).expect("rows are plain data");
        self.out.mutations.push(Mutation::Put(kind, name.into(), json.into()));
    }

    /// The queue's index. A missing queue is created, and owned by the tenant that creates it, if
    /// any.
    pub(crate) fn queue_ix(
        &mut self,
        name: &QueueName,
        by: Option<&TenantId>,
    ) -> Result<QueueIx, Refusal> {
        if let Some(ix) = self.queues.find_existing(name) {
            return Ok(ix);
        }
        let owner = Self::queue_owner(name, by);
        self.check_tenant(owner.as_ref())?;
        self.queues.check_cap(self.asker(owner.as_ref()), 0, 1)?;
        if let Some(id) = &owner {
            self.ensure_tenant(id);
        }
        let row = QueueRow { owner, ..QueueRow::new(self.wall()) };
        self.put(RowKind::Queue, name, &row);
        let ix = match self.queues.find(name) {
            Some(deleted) => deleted,
            None => self.add_queue(name.clone()),
        };
        self.queues.create(ix, row);
        self.scheduler.queue_created(name, ix);
        // In pool scope, the new queue's turns must be in the accounts of its pools from the first
        // job on.
        self.make_pool_accounts();
        self.update_queue_limit(name);
        Ok(ix)
    }

    /// Adds a queue to the tables. It does not exist for clients until its row is set.
    pub(crate) fn add_queue(&mut self, name: QueueName) -> QueueIx {
        let ix = self.queues.add(name.clone(), self.now.mono);
        self.check_idle_later(IdleCandidate::Queue(ix));
        self.scheduler.add_queue(ix);
        self.scheduler.queue_created(&name, ix);
        ix
    }

    pub(crate) fn add_tenant(&mut self, id: TenantId, created: Millis) -> TenantIx {
        let ix = self.tenants.add(id.clone(), created, self.now.mono);
        self.check_idle_later(IdleCandidate::Tenant(ix));
        let rules = self.rules_of(ix);
        self.scheduler.add_tenant(ix, id, rules);
        ix
    }

    /// Adds a tenant that another row names; its own row may follow.
    pub(crate) fn ensure_tenant_of_row(&mut self, id: &TenantId, created: Millis) {
        if self.tenants.find(id).is_none() {
            self.add_tenant(id.clone(), created);
        }
    }

    /// Applies the configured tenants, pools and limits.
    fn load_config(&mut self) {
        for (id, config) in self.config.tenants.clone() {
            // Configured tenants get metric labels before others.
            self.meters.give_label(&id);
            let ix = self.add_tenant(id, Millis(0));
            self.tenants.get_mut(ix).file = Some(config.into());
            self.tenants.note_configured();
            self.tenant_changed(ix);
        }
        for (name, pool) in self.config.pools.clone() {
            pool.queues.iter().for_each(|queue| {
                self.meters.give_queue_label(queue, Asker::OPERATOR);
            });
            let change = PoolChange { origin: ConfigOrigin::File, config: Some(pool), active: 0 };
            self.scheduler.reconfigured(Reconfigured::Pool(name, change));
        }
        for (key, numbers) in self.config.limits.clone() {
            let queue = key.strip_prefix("queue:").and_then(|name| QueueName::stored(name).ok());
            if let Some(queue) = queue {
                self.meters.give_queue_label(&queue, Asker::OPERATOR);
            }
            let ix = self.scheduler.limit(&Partition { key, tenant: None });
            let row = LimitRow { declared: Some(numbers), from_file: true, ..LimitRow::default() };
            self.scheduler.reconfigured(Reconfigured::Said(ix, row));
        }
    }

    /// Makes a job available that was in no lane.
    pub(crate) fn make_ready(&mut self, seq: Seq, class: ClassId, job: Waiting, undo: bool) {
        let enqueued = self.wall();
        let undo = undo.then_some(Undo { attempt: job.attempt, pauses: job.pauses });
        let ready = Ready { seq, enqueued, undo, held: false };
        self.out.mutations.push(Mutation::Ready(ready));
        if let Some(live) = self.deadlines.get_mut(seq) {
            (live.state, live.enqueued, live.due) = (State::Available, enqueued, None);
            live.held = false;
        }
        self.enter_lane(seq, class, Waiting { fresh: false, ..job });
    }

    /// Tracks the deadline or schedule of a job that waits again after an execution.
    pub(crate) fn track_again(
        &mut self,
        seq: Seq,
        active: &Active,
        state: State,
        due: Option<Millis>,
    ) {
        if active.expires.is_some() || self.crons.is_run(seq) {
            self.deadlines.add(Live {
                seq,
                class: active.class,
                state,
                attempt: active.attempt,
                enqueued: self.now.wall,
                due,
                started: Some(active.started),
                expires: active.expires,
                worker: None,
                pool: None,
                reserved_ms: 0,
                held: false,
                bytes: active.size.bytes() as u32,
                pauses: active.pauses,
            });
        }
    }

    /// Ends a job that is in no lane and no timer.
    pub(crate) fn end(&mut self, seq: Seq, class: ClassId, ending: Ending, result: Option<Bytes>) {
        let at = self.wall();
        let slot = self.classes.slot(class);
        let (ix, tenant) = (slot.queue, slot.tenant);
        if ending.state() == State::Discarded {
            self.tenant_delta(tenant).discarded += 1;
        }
        let keep_ms = self.retention_of(ix, ending);
        let purge_at = keep_ms.map(|ms| later(at, ms));
        self.out.mutations.push(Mutation::Finish(Finish { seq, ending, at, purge_at, result }));
        self.classes.count_finished(class, ending);
        self.class_lost_job(class);
        self.count_kept(class, |kept| *kept.get_mut(ending) += 1);
        *self.meter(class).ended.get_mut(ending) += 1;
        self.deadlines.remove(seq);
        self.cron_run_ended(seq);
    }

    /// Releases an active job's slots and records its run time. What follows is up to the caller.
    pub(crate) fn release(&mut self, active: &Active) {
        let (slot, took) = (self.classes.slot(active.class), active.ran_ms(self.now.mono));
        let tenant = slot.tenant;
        if self.config.fairness.cost == Cost::Runtime {
            self.runtimes.record(&slot.class.kind, took.max(1));
        }
        self.tenant_delta(tenant).run_ms += took;
        self.free_slot(active, took.max(1));
    }

    /// Releases an active job's slots. `cost` is the run time to charge, in ms.
    pub(crate) fn free_slot(&mut self, active: &Active, cost: u64) {
        self.count_out(active.class, State::Active, active.size);
        let (account, charged) = (active.account, active.charged);
        let by_runtime = self.config.fairness.cost == Cost::Runtime;
        let correction = by_runtime.then_some(Correction { account, charged, cost });
        let (class, pool) = (active.class, active.pool.as_ref());
        self.scheduler.ended(&Ended { class, pool, correction });
        if let Some(id) = &active.worker {
            self.worker_changed(id);
        }
    }

    /// Stores and counts the error of a failed execution.
    pub(crate) fn record_failure(
        &mut self,
        seq: Seq,
        active: &Active,
        failure: &Failure,
        delay_ms: Option<u64>,
    ) {
        let at = self.wall();
        let mut json = Vec::with_capacity(failure.json.len() + 128);
        json.push(b'{');
        json.extend_from_slice(&failure.json);
        json.extend_from_slice(format!(r#","attempt":{}"#, active.attempt).as_bytes());
        for key in ["timestamp", "occurred_at"] {
            json.extend_from_slice(format!(r#","{key}":"{at}""#).as_bytes());
        }
        if let Some(ms) = delay_ms {
            json.extend_from_slice(format!(r#","retry_delay_ms":{ms}"#).as_bytes());
        }
        json.push(b'}');
        let row = ErrorRow { seq, attempt: active.attempt, json: json.into() };
        self.out.mutations.push(Mutation::Error(row));
        let slot = self.classes.slot(active.class);
        let (ix, tenant) = (slot.queue, slot.tenant);
        self.record(ix, |minute| minute.failed += 1);
        self.meter(active.class).failed += 1;
        self.tally(tenant, Tally { failed: 1, ..Tally::default() });
        let job = self.job_ref(seq, active.class);
        let duration_ms = active.ran_ms(self.now.mono);
        let (attempt, error) = (active.attempt, failure.json.clone());
        self.emit(EventKind::Failed { job, attempt, error, duration_ms });
    }

    /// Adds a timer for a job and counts the job.
    pub(crate) fn wait_until(&mut self, due: Millis, seq: Seq, timer: Timer) {
        self.count_in(timer.class, timer.state, timer.size);
        self.timers.add(due, seq, timer);
    }

    /// The meter of a class.
    pub(crate) fn meter(&mut self, class: ClassId) -> &mut Meter {
        self.meters.meter_mut(self.shards.get(self.classes.slot(class).shard).meter)
    }

    fn retention_of(&self, ix: QueueIx, ending: Ending) -> Option<u64> {
        let settings = &self.queues.get(ix).row.settings;
        let of_queue = match ending.state() {
            State::Completed => settings.completed_ms,
            State::Cancelled => settings.cancelled_ms,
            _ => settings.discarded_ms,
        };
        of_queue.or_else(|| self.config.retention.of(ending))
    }
}
