//! The engine's state, and applying commands to it.

use std::collections::VecDeque;

use rota_model::mutation::{Mutation, RowKind};
use rota_model::{ClassId, IdKey, JobId, Millis, Seq, SplitMix64};

use crate::account_watch::AccountWatch;
use crate::active::Actives;
use crate::admission::{RoomChecks, WaitingEnqueues};
use crate::audit_log::AuditLog;
use crate::classes::Classes;
use crate::commands::OpenIntervals;
use crate::cron_table::Crons;
use crate::dead_letter::DeadLetters;
use crate::deadlines::Deadlines;
use crate::hasher;
use crate::idle::Idle;
use crate::idle_limits::IdleLimits;
use crate::inspect::Maintenance;
use crate::journal::Journal;
use crate::keys::Keys;
use crate::limit_owners::LimitOwners;
use crate::limit_watch::LimitWatch;
use crate::meters::Meters;
use crate::noisy_tenants::NoiseDetector;
use crate::pool_watch::PoolWatch;
use crate::queue::Queues;
use crate::runtimes::Runtimes;
use crate::scheduler::Scheduler;
use crate::shard::Shards;
use crate::stats::{SeqClock, Stats};
use crate::tenant::{RequestLimitChanges, RuleChange, Tenants};
use crate::timers::Timers;
use crate::worker::Workers;
use crate::{Command, Config, Effects, Event, EventKind, JobRef, KeyChange, Now, Reply, WaiterId};

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
    pub(crate) dead_letters: DeadLetters,
    pub(crate) audit_log: AuditLog,
    pub(crate) request_limit_changes: RequestLimitChanges,
    pub(crate) keys: Keys,
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
            keys: Keys::new(caps.keys, config.forget_keys_ms),
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
            workers: Workers::new(caps.workers, caps.worker_bytes),
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
            crons: Crons::new(caps.schedules, caps.schedule_bytes, caps.schedule_runs),
            dead_letters: DeadLetters::new(caps.error_types),
            audit_log: AuditLog::default(),
            request_limit_changes: RequestLimitChanges::default(),
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
        self.scheduler.renew_repair_budget();
        let reply = match command {
            Command::Enqueue(enqueue) => self.enqueue(enqueue),
            Command::Fetch(fetch) => self.fetch(fetch),
            Command::StopWaiting(waiter) => self.stop_waiting(waiter),
            Command::EndWaiting => self.end_waiting(),
            Command::Undelivered(undelivered) => self.undelivered(&undelivered),
            Command::Settle(all) => self.settle(all),
            Command::Beat(beat) => self.beat(beat),
            Command::Register(registration) => self.register(*registration),
            Command::Deregister(worker, tenant) => self.deregister(&worker, tenant.as_ref()),
            Command::DropStaleWorker(worker) => self.remove_stale_worker(&worker),
            Command::Direct(worker, directive) => self.direct(&worker, directive),
            Command::Cancel(targets) => self.cancel(&targets),
            Command::RequestCancel(targets) => self.request_cancel(&targets),
            Command::Activate(targets) => self.activate(&targets),
            Command::SetPriority(targets, new) => self.set_priority(&targets, &new),
            Command::Retry(targets) => self.retry(&targets),
            Command::RetryOnly(targets, only) => self.retry_only(&targets, only),
            Command::RetryAs(targets, change) => self.retry_as(&targets, &change),
            Command::Prune(prune) => self.prune(&prune),
            Command::Replay(due) => self.replay_dead(due),
            Command::Delete(targets) => self.delete(&targets),
            Command::DeleteOnly(targets, only) => self.delete_only(&targets, only),
            Command::Forget(overdue) => self.forget(&overdue),
            Command::CreateQueue(name, settings) => self.create_queue(name, settings),
            Command::PauseQueue(name) => self.pause_queue(name),
            Command::ResumeQueue(name) => self.resume_queue(name),
            Command::ConfigureQueue(name, settings) => self.configure_queue(name, settings),
            Command::DeleteQueue(name) => self.delete_queue(&name),
            Command::PutCron(spec) => self.put_cron(&spec),
            Command::RemoveCron(name) => self.remove_cron(&name),
            Command::EnableCron(name, enabled) => self.enable_cron(&name, enabled),
            Command::TriggerCron { name, .. } => self.trigger_cron(name),
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
            Command::Audit(notes) => self.write_audit_notes(&notes),
            Command::TrimAudit(oldest) => self.trim_audit_log(&oldest),
            Command::CreateKey(key) => self.create_key(*key),
            Command::RotateKey(rotate) => self.rotate_key(&rotate),
            Command::RevokeKey(id) => self.revoke_key(&id),
            Command::RemoveKey(id) => self.remove_key(&id),
            Command::TouchKeys(uses) => self.touch_keys(&uses),
            Command::Tick(now) => {
                self.advance(now);
                Reply::Done
            }
            Command::Resume(now) => {
                self.resume(now);
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
        self.dead_letters.write_rows(&mut self.out.mutations);
        mutations.append(&mut self.out.mutations);
        events.append(&mut self.out.events);
        std::mem::take(&mut self.out.woken)
    }

    /// Takes the changes of API keys by the commands since the last call. They take effect with the commit
    /// of the mutations, before the replies are released.
    pub fn take_key_changes(&mut self) -> Vec<KeyChange> {
        self.keys.take_changes()
    }

    /// The sequence number of the next job.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.next_seq
    }

    /// The number of the job that this id names, if Rota made the id. Of another id it is some number.
    #[must_use]
    pub fn sealed_seq(&self, id: JobId) -> Seq {
        id.unseal(self.id_key)
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
}
