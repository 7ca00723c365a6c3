//! Rebuilding the engine from the rows of a store.

mod rows;

use std::collections::BTreeMap;
use std::sync::Arc;

use rota_model::mutation::{Counts, HistoryRow, Mutation, Period, RowKind};
use rota_model::{Class, ClassId, IdKey, Live, Millis, Seq, State, TenantId};

use crate::active::Active;
use crate::commands::ALL_QUEUES;
use crate::commands::resume::with_grace;
use crate::journal::{DispatchState, Entry, RotationState};
use crate::scheduler::limits::{LimitState, Partition};
use crate::scheduler::{RotationKey, Size, WaitingJob};
use crate::tenant::{TenantIx, TenantState};
use crate::timers::Timer;
use crate::{Config, Engine, Interval, Now};

/// An engine under construction. It must be given classes, stored bytes, named rows and unfinished
/// jobs, in this order.
pub struct Restore {
    engine: Engine,
    problem: Option<String>,
    /// Sums of closed minutes, by hour and queue.
    hours: BTreeMap<(Millis, Arc<str>), Interval>,
    tenant_states: Vec<(TenantIx, TenantState<'static>)>,
    limit_states: Vec<(Partition, LimitState)>,
    rotation_states: Vec<(String, RotationState)>,
    dispatch_states: Vec<(String, DispatchState)>,
    entries: Vec<(u64, Entry)>,
    /// Jobs and bytes in the lane of each class, to be counted at once.
    refilled: Vec<(u64, u64)>,
    /// Jobs that a limit rescheduled.
    rescheduled: Vec<(Seq, ClassId, Millis)>,
}

impl Restore {
    /// `now` is the current time; it is raised to that of the last commit, if that is later.
    #[must_use]
    pub fn new(config: Config, seed: u64, now: Now) -> Self {
        let mut engine = Engine::new(config, seed);
        engine.now = now;
        Self {
            engine,
            problem: None,
            hours: BTreeMap::new(),
            tenant_states: Vec::new(),
            limit_states: Vec::new(),
            rotation_states: Vec::new(),
            dispatch_states: Vec::new(),
            entries: Vec::new(),
            refilled: Vec::new(),
            rescheduled: Vec::new(),
        }
    }

    pub fn class(&mut self, id: ClassId, class: Class, counts: Counts) {
        // Tenants' rows come after the classes; without this, they would be written again.
        if self.engine.queues.find(&class.queue).is_none() {
            self.engine.add_queue(class.queue.clone());
        }
        if self.engine.tenants.find(&class.tenant).is_none() {
            self.engine.add_tenant(class.tenant.clone(), self.engine.now.wall);
        }
        let tenant = self.engine.tenants.find(&class.tenant).expect("the tenant was just added");
        self.engine.tenants.get_mut(tenant).written = true;
        let home = self.engine.home_of(&class);
        let class = self.engine.intern_names(&class, &home);
        self.engine.classes.put(id, Arc::new(class), home, counts);
        self.engine.count_kept(id, |kept| kept.add(&counts));
        self.engine.class_added(id);
    }

    /// The bytes of a tenant's jobs.
    pub fn stored(&mut self, tenant: &TenantId, bytes: u64) {
        self.engine.tenants.count_stored_of(tenant, bytes);
    }

    pub fn named(&mut self, kind: RowKind, name: &str, json: &[u8]) {
        let outcome = match kind {
            RowKind::Queue => self.queue(name, json),
            RowKind::Cron => self.cron(name, json),
            RowKind::Worker => self.worker(name, json),
            RowKind::Setting => self.setting(name, json),
            RowKind::Tenant => self.tenant(name, json),
            RowKind::Pool => self.pool(name, json),
            RowKind::Limit => self.limit(name, json),
            RowKind::TenantState => self.tenant_state(name, json),
            RowKind::LimitState => self.limit_state(name, json),
            RowKind::RotationState => self.rotation_state(name, json),
            RowKind::CronState => self.cron_state(name, json),
            RowKind::CronRun => self.cron_run(name, json),
            RowKind::DispatchState => self.dispatch_state(name, json),
            RowKind::DeadShard => self.engine.dead_letters.restore_shard(name, json),
            RowKind::DeadErrors => self.engine.dead_letters.restore_errors(name, json),
            RowKind::ApiKey => self.api_key(name, json),
        };
        if let Err(problem) = outcome {
            self.problem.get_or_insert(format!("{kind:?} '{name}' cannot be read: {problem}"));
        }
    }

    pub fn live(&mut self, live: Live) {
        let engine = &mut self.engine;
        if !engine.classes.contains(live.class) {
            let problem = format!("job {} has the unknown class {}", live.seq, live.class.0);
            self.problem.get_or_insert(problem);
            return;
        }
        let (seq, class, attempt, state) = (live.seq, live.class, live.attempt, live.state);
        engine.class_gained_job(class);
        let waiting = WaitingJob::of(&live);
        let WaitingJob { pauses, size, .. } = waiting;
        match (state, live.due) {
            (State::Scheduled | State::Retryable, Some(due)) => {
                engine.wait_until(due, seq, Timer { class, attempt, pauses, size, state });
                if live.is_rescheduled() {
                    self.rescheduled.push((seq, class, due));
                }
            }
            (State::Available, _) if !live.is_held() => {
                let fresh = attempt == 0 && pauses == 0;
                engine.scheduler.refill(seq, class, WaitingJob { fresh, ..waiting });
                let index = class.0 as usize;
                if self.refilled.len() <= index {
                    self.refilled.resize(index + 1, (0, 0));
                }
                let (jobs, bytes) = &mut self.refilled[index];
                (*jobs, *bytes) = (*jobs + 1, *bytes + size.bytes());
            }
            _ => engine.count_in(class, state, size),
        }
        if state == State::Active {
            self.active(live);
        } else if live.expires.is_some() || engine.crons.is_run(seq) {
            engine.deadlines.add(live);
        }
    }

    /// A row of a minute, from the hour of the last commit or the one before.
    pub fn history(&mut self, row: &HistoryRow) {
        match self.engine.journal.minutes.restore(row, self.engine.now.wall) {
            Ok(Some(interval)) => {
                let hour = (Period::Hour.start_of(row.at), row.queue.clone());
                self.hours.entry(hour).or_default().merge(&interval);
            }
            Ok(None) => {}
            Err(e) => {
                let problem = format!("statistics of '{}' cannot be read: {e}", row.queue);
                self.problem.get_or_insert(problem);
            }
        }
    }

    /// A journal entry. Entries come in ascending order, after everything else.
    pub fn journal(&mut self, number: u64, data: &[u8]) {
        match serde_json::from_slice(data) {
            Ok(entry) => self.entries.push((number, entry)),
            Err(e) => {
                self.problem.get_or_insert(format!("journal entry {number} cannot be read: {e}"));
            }
        }
    }

    /// The engine as of the last commit, or what is wrong with the data.
    pub fn finish(
        mut self,
        next_seq: Seq,
        last_now: Millis,
        id_key: IdKey,
        number: u64,
    ) -> Result<Engine, String> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        self.engine.next_seq = next_seq.max(Seq(1));
        self.engine.id_key = id_key;
        self.engine.now.wall = self.engine.now.wall.max(last_now);
        self.engine.classes.collect_free();
        self.engine.dead_letters.collect_free();
        self.restore_counters(number, last_now);
        Ok(self.engine)
    }

    /// Restores counters. This comes last, when what they count for and the time are known.
    fn restore_counters(&mut self, number: u64, last_commit: Millis) {
        let engine = &mut self.engine;
        let now = engine.now;
        engine.scheduler.advance(now);
        for (index, (jobs, bytes)) in std::mem::take(&mut self.refilled).into_iter().enumerate() {
            if jobs > 0 {
                engine.count_refilled(ClassId(index as u32), jobs, bytes);
            }
        }
        for (seq, class, due) in std::mem::take(&mut self.rescheduled) {
            engine.scheduler.rebook(seq, class, due);
        }
        engine.make_pool_accounts();
        for (partition, state) in &self.limit_states {
            engine.scheduler.restore_limit(partition, state, now);
            engine.journal.set_flushed_to(&partition.name(), state.as_of);
        }
        for (ix, state) in std::mem::take(&mut self.tenant_states) {
            let offset = now.wall.0 - now.mono as i64;
            let id = engine.tenants.get(ix).id.clone();
            engine.journal.set_flushed_to(&id, state.as_of);
            engine.tenants.restore_counters(ix, state.counters.into_owned(), now.wall);
            for (at, n) in state.enqueued {
                engine.count_enqueued(ix, n, at - offset);
            }
            for (queue, level, tag) in state.turns {
                engine.restore_turn(ix, &queue, level, tag);
            }
            for (rotation, level, tag) in state.shared_turns {
                engine.restore_shared_turn(ix, &rotation, level, tag, state.as_of);
            }
        }
        // Rows of pools and queues that no longer exist.
        let mut stale = Vec::new();
        for (name, state) in &self.rotation_states {
            engine.journal.set_flushed_to(name, state.as_of);
            engine.restore_rotation(name, state);
            if RotationKey::parse(name).is_none_or(|key| !engine.has_rotation(&key)) {
                stale.push(Mutation::Remove(RowKind::RotationState, name.as_str().into()));
            }
        }
        for (name, state) in &self.dispatch_states {
            if !engine.restore_dispatches(name, state) {
                stale.push(Mutation::Remove(RowKind::DispatchState, name.as_str().into()));
            }
        }
        engine.journal.minutes.begin_replay(last_commit);
        for (number, entry) in std::mem::take(&mut self.entries) {
            engine.replay(number, &entry);
        }
        engine.journal.end_replay(number);
        engine.restore_sets();
        engine.label_loaded_queues();
        engine.restore_last_minute();
        engine.count_workers();
        let queues = &engine.queues;
        engine.scheduler.finish_restore(|name| queues.find(name));
        engine.find_idle_limits();
        engine.tenants.find_retired();
        engine.out = Default::default();
        engine.out.mutations = stale;
        engine.end_minute_replay(&mut self.hours);
        for ((hour, name), interval) in &self.hours {
            let queue = engine.queues.find(name);
            if *hour < Period::Hour.start_of(engine.now.wall) {
                engine.write_interval(Period::Hour, *hour, name, interval);
            } else if queue.is_some() || &**name == ALL_QUEUES {
                engine.restore_hour(queue, *hour, interval);
            }
        }
    }

    fn active(&mut self, live: Live) {
        let engine = &mut self.engine;
        let now = engine.now;
        let (reserved_ms, cancel_requested) = (live.reserved_ms, live.is_cancel_requested());
        let left = live.due.map_or(0, |due| due.since(now.wall).max(0) as u64);
        let left = with_grace(left, reserved_ms).min(reserved_ms.max(1));
        let started = live.started.unwrap_or(live.enqueued);
        let ran_ms = now.wall.since(started).max(0) as u64;
        let policy = &engine.classes.slot(live.class).class.policy;
        let timeout_ms = policy.timeout_ms.unwrap_or(engine.config.timeout_ms);
        let timeout_left = with_grace(timeout_ms.saturating_sub(ran_ms), timeout_ms);
        engine.active.insert(
            live.seq,
            Active {
                class: live.class,
                attempt: live.attempt,
                pauses: live.pauses,
                size: Size::of(u64::from(live.bytes)),
                started,
                started_mono: (now.mono as i64).saturating_sub(ran_ms as i64),
                worker: live.worker,
                reserved_ms,
                reserved_until: now.mono.saturating_add(left),
                times_out: now.mono.saturating_add(timeout_left),
                expires: live.expires,
                pool: live.pool.clone(),
                charged: engine.cost_of(live.class),
                account: None,
                counted: [None; 3],
                counted_at: 0,
                cancel_requested,
            },
        );
        engine.scheduler.was_active(live.class, live.pool.as_ref());
    }
}
