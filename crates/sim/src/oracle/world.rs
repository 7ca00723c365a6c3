//! The expected state of the server, derived from requests and mutations only and kept in plain maps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rota_engine::{Bounds, Config, Fetch, Now, Overlap, WaiterId};
use rota_model::envelope::NewJob;
use rota_model::row::JobRow;
use rota_model::{
    Class, ClassId, CronName, DeadLetterSettings, JobId, Live, Millis, PoolName, QueueName,
    QueueStrategy, Seq, State, TenantId, WorkerId,
};

use super::audit::AuditLog;
use super::debts::Debts;
use super::limits::{Key, Partition};
use super::pools::Pool;
use super::queue_turns::QueueTurns;
use super::stored_bytes::StoredBytes;
use super::stored_time::Restart;
use super::tenants::Tenant;
use super::turns::Turns;

/// What the documentation promises a worker after a restart.
const GRACE_MS: u64 = 15_000;

#[derive(Clone)]
pub struct World {
    pub config: Config,
    pub wall: Millis,
    /// The time of the last step, which a restart may have raised.
    pub stepped: Millis,
    /// The true time.
    pub at: u64,
    /// The time by which limits are counted: it passes as on the slower of the two clocks.
    pub limit_at: i64,
    pub maintenance: bool,
    pub classes: BTreeMap<ClassId, Arc<Class>>,
    pub jobs: BTreeMap<Seq, Job>,
    pub deleted: BTreeSet<Seq>,
    pub queues: BTreeMap<QueueName, Queue>,
    pub workers: BTreeMap<WorkerId, Worker>,
    /// Active jobs of each worker that gave its name.
    pub held_by: BTreeMap<WorkerId, BTreeSet<Seq>>,
    pub crons: BTreeMap<CronName, Cron>,
    pub waiters: BTreeMap<WaiterId, Waiter>,
    /// Enqueues that wait for room.
    pub blocked: BTreeMap<WaiterId, Blocked>,
    pub active: BTreeSet<Seq>,
    pub tenants: BTreeMap<TenantId, Tenant>,
    pub limits: BTreeMap<Partition, Key>,
    /// The tenants that the limits on disk count for, by their names there.
    pub limit_rows: BTreeMap<String, Option<TenantId>>,
    pub pools: BTreeMap<PoolName, Pool>,
    pub debts: Debts,
    pub queue_turns: QueueTurns,
    /// Queues that fetches without a pool named together, in pool scope.
    pub sets: BTreeSet<Vec<QueueName>>,
    pub turns: Turns,
    /// How often each rule has replayed each job of the dead letter.
    pub replayed: BTreeMap<(Seq, String), u32>,
    pub audit: AuditLog,
    pub stored: StoredBytes,
}

#[derive(Clone)]
pub struct Job {
    pub id: JobId,
    pub class: Arc<Class>,
    /// The start that its client asked for.
    pub start_at: Option<Millis>,
    pub place: JobRow,
    /// Executions that a worker gave back on purpose; they may exceed the attempts allowed.
    pub requeues: u32,
    pub lease: Option<Lease>,
    /// The schedule that it is an unfinished run of.
    pub run_of: Option<CronName>,
    /// The pool that it runs in.
    pub pool: Option<PoolName>,
}

/// Until when a worker may count on an execution, in true time.
#[derive(Debug, Clone, Copy)]
pub struct Lease {
    pub until: u64,
    pub times_out: u64,
}

#[derive(Clone, Default)]
pub struct Queue {
    /// The tenant that made it.
    pub owner: Option<TenantId>,
    pub paused: bool,
    pub concurrency: Option<u32>,
    pub bounds: Option<Bounds>,
    pub dead_letter: Option<Arc<DeadLetterSettings>>,
    pub ready: BTreeMap<ClassId, BTreeSet<Seq>>,
    pub active: u64,
}

#[derive(Clone, Default)]
pub struct Worker {
    /// An operator wants it so.
    pub quiet: bool,
    /// It says so itself; the server remembers that only while it runs.
    pub says_quiet: bool,
    pub concurrency: Option<u32>,
    pub pool: Option<PoolName>,
    pub prefers: Option<QueueStrategy>,
    pub beats: bool,
    pub last_seen: u64,
}

#[derive(Clone)]
pub struct Cron {
    pub overlap: Overlap,
    pub enabled: bool,
    pub period_ms: i64,
    pub queue: QueueName,
    pub tenant: TenantId,
    /// Occurrences up to here are no longer owed.
    pub settled: Millis,
}

#[derive(Clone)]
pub struct Waiter {
    pub fetch: Fetch,
    pub deadline: u64,
}

#[derive(Clone)]
pub struct Blocked {
    pub jobs: Arc<[NewJob]>,
    pub deadline: u64,
    /// For how many steps in a row there has been room for it.
    pub had_room: u32,
}

impl Job {
    pub fn bytes(&self) -> u32 {
        match &self.place {
            JobRow::Live(live) => live.bytes,
            JobRow::Done(done) => done.bytes,
        }
    }

    pub fn state(&self) -> State {
        self.place.state()
    }

    pub fn live(&self) -> Option<&Live> {
        match &self.place {
            JobRow::Live(live) => Some(live),
            JobRow::Done(_) => None,
        }
    }

    pub fn max_attempts(&self) -> u32 {
        self.class.policy.retry.max_attempts
    }

    /// It would be handed out, were it first.
    pub fn is_ready(&self) -> bool {
        self.live().is_some_and(|live| live.state == State::Available && !live.is_held())
    }

    pub fn is_held(&self) -> bool {
        self.live().is_some_and(|live| live.is_held())
    }
}

impl World {
    pub fn new(config: Config) -> Self {
        Self {
            config,
            wall: Millis(i64::MIN),
            stepped: Millis(i64::MIN),
            at: 0,
            limit_at: 0,
            maintenance: false,
            classes: BTreeMap::new(),
            jobs: BTreeMap::new(),
            deleted: BTreeSet::new(),
            queues: BTreeMap::new(),
            workers: BTreeMap::new(),
            held_by: BTreeMap::new(),
            crons: BTreeMap::new(),
            waiters: BTreeMap::new(),
            blocked: BTreeMap::new(),
            active: BTreeSet::new(),
            tenants: BTreeMap::new(),
            limits: BTreeMap::new(),
            limit_rows: BTreeMap::new(),
            pools: BTreeMap::new(),
            debts: Debts::default(),
            queue_turns: QueueTurns::default(),
            sets: BTreeSet::new(),
            turns: Turns::default(),
            replayed: BTreeMap::new(),
            audit: AuditLog::default(),
            stored: StoredBytes::default(),
        }
    }

    pub fn add(&mut self, seq: Seq, job: Job) {
        self.jobs.insert(seq, job);
        self.index(seq, true);
    }

    /// Changes a job that exists.
    pub fn change(&mut self, seq: Seq, change: impl FnOnce(&mut Job)) {
        self.index(seq, false);
        if let Some(job) = self.jobs.get_mut(&seq) {
            change(job);
        }
        self.index(seq, true);
    }

    pub fn remove(&mut self, seq: Seq) {
        self.index(seq, false);
        self.jobs.remove(&seq);
        self.deleted.insert(seq);
    }

    /// A new process, or an engine rebuilt in the old one: who waited does not any more, and
    /// workers are given the time that the documentation promises.
    pub fn restart(&mut self, at: u64, now: Now) {
        let wall = self.stepped.max(now.wall);
        let restart = Restart { at: at as i64, wall, written_wall: self.stepped };
        (self.at, self.wall) = (at, wall);
        self.waiters.clear();
        self.blocked.clear();
        self.stored.reported(u64::MAX);
        for worker in self.workers.values_mut() {
            (worker.last_seen, worker.says_quiet) = (at, false);
        }
        let of_limits = Restart { at: self.limit_at, ..restart };
        self.limits.values_mut().for_each(|key| key.after(&of_limits));
        let arrivals = self.tenants.values_mut().flat_map(|tenant| &mut tenant.arrivals);
        arrivals.for_each(|arrival| arrival.after_with_its_batch(&restart));
        self.turns.restarted();
        self.restart_pools();
        self.debts.restarted();
        self.queue_turns = QueueTurns::default();
        let default_timeout = self.config.timeout_ms;
        for job in self.jobs.values_mut() {
            let timeout = job.class.policy.timeout_ms.unwrap_or(default_timeout);
            if let JobRow::Live(live) = &job.place
                && live.state == State::Active
            {
                job.lease = Some(Lease::after_restart(live, timeout, at, now.wall));
            }
        }
    }

    /// The process did not run for a while: workers have time to report, as after a restart.
    /// `before` is the time of the last step.
    pub fn give_grace(&mut self, before: u64) {
        let (at, timeout) = (self.at, self.config.heartbeat_timeout_ms);
        for worker in self.workers.values_mut() {
            if !worker.beats || before.saturating_sub(worker.last_seen) < timeout {
                worker.last_seen = at;
            }
        }
        let default_timeout = self.config.timeout_ms;
        for job in self.jobs.values_mut() {
            let timeout = job.class.policy.timeout_ms.unwrap_or(default_timeout);
            if let (JobRow::Live(live), Some(lease)) = (&job.place, &mut job.lease) {
                lease.until = lease.until.max(at + GRACE_MS.min(live.reserved_ms));
                lease.times_out = lease.times_out.max(at + GRACE_MS.min(timeout));
            }
        }
    }

    /// Whatever happened so far may be written down after this step.
    pub fn note_written(&mut self) {
        let (at, wall) = (self.at as i64, self.wall);
        let limit_at = self.limit_at;
        self.limits.values_mut().for_each(|key| key.may_be_written(limit_at, wall));
        let arrivals = self.tenants.values_mut().flat_map(|tenant| &mut tenant.arrivals);
        arrivals.for_each(|arrival| arrival.may_be_written(at, wall));
    }

    fn index(&mut self, seq: Seq, present: bool) {
        let Some(job) = self.jobs.get(&seq) else {
            return;
        };
        let Some(queue) = self.queues.get_mut(&job.class.queue) else {
            // Its queue was deleted, and stays so when a finished job goes or moves to another queue.
            return;
        };
        let lane = queue.ready.entry(job.place.class()).or_default();
        if job.is_ready() {
            if present {
                lane.insert(seq);
            } else {
                lane.remove(&seq);
            }
        }
        if lane.is_empty() {
            queue.ready.remove(&job.place.class());
        }
        if job.state() != State::Active {
            return;
        }
        let tenant = self.tenants.entry(job.class.tenant.clone()).or_default();
        if present {
            self.active.insert(seq);
            (queue.active, tenant.active) = (queue.active + 1, tenant.active + 1);
        } else {
            self.active.remove(&seq);
            (queue.active, tenant.active) = (queue.active - 1, tenant.active - 1);
        }
        if let Some(worker) = job.live().and_then(|live| live.worker.clone()) {
            let held = self.held_by.entry(worker).or_default();
            if present {
                held.insert(seq);
            } else {
                held.remove(&seq);
            }
        }
    }
}

impl Lease {
    /// What is left by the wall clock, but not less than the grace, nor more than there was.
    fn after_restart(live: &Live, timeout_ms: u64, at: u64, wall: Millis) -> Self {
        let reserved = live.reserved_ms;
        let by_clock = live.due.map_or(0, |due| due.since(wall).max(0) as u64);
        let ran = live.started.map_or(0, |s| wall.since(s).max(0) as u64);
        let left = by_clock.max(GRACE_MS.min(reserved)).min(reserved);
        let time_left = timeout_ms.saturating_sub(ran).max(GRACE_MS.min(timeout_ms));
        Self { until: at + left, times_out: at + time_left }
    }
}
