//! Commands: everything that can be asked of the engine.
//!
//! `J` is how a command names jobs. Clients use ids; the engine applies commands with a [`Target`],
//! which has the job's current row. [`Command::resolve`] turns ids into targets. In a `Vec<J>`, no job
//! is named twice.

use std::sync::Arc;

use bytes::Bytes;
use rota_identity::{ApiKey, KeyHash, KeyId};
use rota_model::audit::{AuditNote, AuditStub};
use rota_model::cron::Schedule;
use rota_model::envelope::NewJob;
use rota_model::row::JobRow;
use rota_model::{
    Class, ClassId, CronName, DeadLetterSettings, DeadShardId, Directive, DueReplay, Feedback,
    JobId, LimitKey, LimitNumbers, Live, Millis, Overdue, PoolConfig, PoolName, QueueName, Rate,
    Seq, State, TenantConfig, TenantId, WorkerId,
};
use serde::{Deserialize, Serialize};

use crate::{Bounds, Now, Overlap, Preference, Registration, Settle};

#[derive(Debug, Clone)]
pub enum Command<J = Target> {
    /// Accept jobs, all or none, at once or when there is room.
    Enqueue(Enqueue),
    /// Give a worker jobs, at once or when the first arrives.
    Fetch(Fetch),
    /// A waiting fetch or enqueue has given up.
    StopWaiting(WaiterId),
    /// Answer everything that waits, and let nothing wait from now on: the process is about to end.
    EndWaiting,
    /// Jobs that were claimed and did not reach their worker.
    Undelivered(Undelivered),
    /// Executions have ended. Each is answered separately.
    Settle(Vec<Settle<J>>),
    /// A heartbeat.
    Beat(Beat<J>),
    Register(Box<Registration>),
    /// Remove a worker, on behalf of a tenant or of an operator (`None`).
    Deregister(WorkerId, Option<TenantId>),
    /// Remove a worker that has been silent for too long, and release its jobs.
    DropStaleWorker(WorkerId),
    /// Give a worker a directive with its next heartbeat.
    Direct(WorkerId, Directive),
    /// Cancel jobs.
    Cancel(Vec<J>),
    /// Cancel waiting jobs, and ask the workers of active ones to cancel them.
    RequestCancel(Vec<J>),
    /// Make pending jobs available.
    Activate(Vec<J>),
    /// Give waiting jobs another priority.
    SetPriority(Vec<J>, Box<NewPriority>),
    /// Make finished jobs available again.
    Retry(Vec<J>),
    /// The same for those of the jobs that are still as they were when they were selected.
    RetryOnly(Vec<J>, Unchanged),
    /// The same for jobs of the dead letter, with changes to the jobs.
    RetryAs(Vec<J>, Box<Override>),
    /// Delete jobs of a dead letter that are too old or too many.
    Prune(Box<Prune<J>>),
    /// Replay jobs of the dead letter.
    Replay(Vec<DueReplay>),
    /// Delete jobs, unless they are active.
    Delete(Vec<J>),
    /// Delete jobs, unless they no longer match what they were selected by.
    DeleteOnly(Vec<J>, Unchanged),
    /// Delete finished jobs whose retention has passed.
    Forget(Overdue),
    /// Create a queue that does not exist yet, and keep it while it is idle.
    CreateQueue(QueueName, QueueSettings),
    PauseQueue(QueueName),
    ResumeQueue(QueueName),
    ConfigureQueue(QueueName, QueueSettings),
    /// Delete a queue without unfinished jobs, with its settings, pauses, limit and statistics.
    DeleteQueue(QueueName),
    /// Pause or resume one tenant's jobs in one queue.
    PauseShard(TenantId, QueueName),
    ResumeShard(TenantId, QueueName),
    PutTenant(TenantId, TenantChange),
    /// Delete a tenant without unfinished jobs. If the configuration file, finished jobs or queues
    /// still refer to it, only its settings are removed.
    DeleteTenant(TenantId, Option<String>),
    /// End an automatic throttle.
    ReleaseTenant(TenantId, Option<String>),
    PutPool(PoolName, Box<PoolConfig>),
    RemovePool(PoolName),
    PutLimit(Box<PutLimit>),
    /// Remove a limit's declaration, override and pause.
    ClearLimit(LimitKey, Option<TenantId>),
    PutCron(Box<CronSpec>),
    RemoveCron(CronName),
    EnableCron(CronName, bool),
    /// Start a run of a schedule now, even if it is disabled.
    TriggerCron {
        name: CronName,
        /// Size of the job, roughly. The engine does not read it; tenants share commits by such sizes.
        bytes: usize,
    },
    /// Add an API key. Adding the same key again changes nothing.
    CreateKey(Box<ApiKey>),
    RotateKey(Box<RotateKey>),
    RevokeKey(KeyId),
    /// Remove the record of a key that has ended.
    RemoveKey(KeyId),
    /// When keys were last used.
    TouchKeys(Vec<(KeyId, Millis)>),
    /// Stop or resume all dispatching, schedules and timers.
    Maintain {
        enabled: bool,
        reason: Option<String>,
        expected_ms: Option<u64>,
    },
    /// Write entries into the audit log that belong to no other command.
    Audit(Vec<AuditNote>),
    /// Delete those of these entries, the oldest of the audit log, that are too old or too many.
    TrimAudit(Vec<AuditStub>),
    /// Advance time and do what has become due, a bounded amount at a time. Only this moves time,
    /// so nothing happens to a job between looking it up and acting on it.
    Tick(Now),
    /// Time has passed in which the process did not run, so workers could not report.
    Resume(Now),
}

/// The one check of whether a job is still as it was when it was selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unchanged {
    pub selected: Selected,
    /// When they were selected. A finished job that ended later has been retried since, and has ended for
    /// another reason.
    pub by: Millis,
}

/// What jobs were selected by. They may have been retried, started or ended since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selected {
    /// Waiting, in any state.
    Waiting,
    /// Ended, in any state or in this one.
    Ended(Option<State>),
    DeadLetter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaiterId(pub u64);

/// Claims whose answer did not reach the worker.
#[derive(Debug, Clone)]
pub struct Undelivered {
    /// By job and attempt.
    pub claims: Vec<(Seq, u32)>,
    /// The worker may have received a part of the answer, so the starts stay counted by rate limits.
    pub partly_sent: bool,
}

#[derive(Debug, Clone)]
pub struct Enqueue {
    pub jobs: Vec<NewJob>,
    /// Wait up to this many ms for room, under this id, if the queue lets enqueues wait.
    pub wait: Option<(WaiterId, u64)>,
}

#[derive(Debug, Clone)]
pub struct Fetch {
    /// In order of preference; empty for the pool's or the worker's queues.
    pub queues: Vec<QueueName>,
    pub count: usize,
    pub worker: Option<WorkerId>,
    pub pool: Option<PoolName>,
    /// Restricts the fetch to jobs of this tenant.
    pub tenant: Option<TenantId>,
    /// Applies only without a pool.
    pub preference: Option<Preference>,
    pub visibility_ms: Option<u64>,
    /// No further job is claimed once those that are have this many bytes.
    pub max_bytes: u64,
    /// Wait up to this many ms for the first job, under this id.
    pub wait: Option<(WaiterId, u64)>,
}

impl Fetch {
    /// A fetch without worker, pool and tenant that does not wait.
    #[must_use]
    pub fn of(queues: Vec<QueueName>, count: usize) -> Self {
        Self {
            queues,
            count,
            worker: None,
            pool: None,
            tenant: None,
            preference: None,
            visibility_ms: None,
            max_bytes: u64::MAX,
            wait: None,
        }
    }
}

/// A change of a tenant's configuration through the API.
#[derive(Debug, Clone)]
pub struct TenantChange {
    pub config: TenantConfig,
    /// The kind of change, for the log of changes.
    pub what: &'static str,
    pub reason: Option<String>,
}

/// A change of a limit's settings. `None` leaves a setting as it is.
#[derive(Debug, Clone)]
pub struct PutLimit {
    pub key: LimitKey,
    pub tenant: Option<TenantId>,
    /// New numbers: an override until then, or a declaration (`None`).
    pub numbers: Option<(NumbersEdit, Option<Millis>)>,
    /// For whom a tenant's worker may pause the key; part of its declaration.
    pub feedback: Option<Feedback>,
    /// A pause until then; a time in the past ends a pause.
    pub paused_until: Option<Millis>,
    pub reason: Option<String>,
}

/// A change of a limit's numbers. For each, `None` leaves it, `Some(None)` removes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NumbersEdit {
    pub concurrency: Option<Option<u32>>,
    pub rate: Option<Option<Rate>>,
    pub throttle: Option<Option<Rate>>,
}

impl NumbersEdit {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn of(self, old: LimitNumbers) -> LimitNumbers {
        LimitNumbers {
            concurrency: self.concurrency.unwrap_or(old.concurrency),
            rate: self.rate.unwrap_or(old.rate),
            throttle: self.throttle.unwrap_or(old.throttle),
        }
    }
}

/// Replaces all numbers.
impl From<LimitNumbers> for NumbersEdit {
    fn from(numbers: LimitNumbers) -> Self {
        let LimitNumbers { concurrency, rate, throttle } = numbers;
        Self { concurrency: Some(concurrency), rate: Some(rate), throttle: Some(throttle) }
    }
}

/// The new priority of a waiting job.
#[derive(Debug, Clone)]
pub struct NewPriority {
    pub priority: i16,
    /// JSON members without braces. The engine has no bodies, so this was made from the job as it was read.
    pub body: Bytes,
    /// The job as it was read. If it has been retried with another body since, nothing is changed.
    pub seen: SeenJob,
}

/// What tells whether the body of a waiting job may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenJob {
    class: ClassId,
    bytes: u32,
    enqueued: Millis,
}

impl SeenJob {
    #[must_use]
    pub fn of(live: &Live) -> Self {
        Self { class: live.class, bytes: live.bytes, enqueued: live.enqueued }
    }
}

/// What a retried job becomes.
#[derive(Debug, Clone)]
pub struct Override {
    pub class: Class,
    /// JSON members without braces.
    pub body: Bytes,
    /// See [`NewJob::proven`].
    pub proven: bool,
}

/// Some of the oldest jobs of a tenant's dead letter in a queue.
#[derive(Debug, Clone)]
pub struct Prune<J = Target> {
    pub shard: DeadShardId,
    /// In the order in which they were discarded.
    pub jobs: Vec<J>,
    /// When the last of them was discarded, as far as the store knew. A job that was discarded later has
    /// been retried since, and is no longer among the oldest.
    pub through: Millis,
    /// No job besides these was discarded before this time, as far as the store knew.
    pub oldest: Option<Millis>,
}

/// A job that a client named, with its current row.
#[derive(Debug, Clone)]
pub struct Target {
    pub seq: Seq,
    pub id: JobId,
    /// The job's row. Not used for active jobs, which the engine has itself.
    pub now: JobRow,
}

impl Target {
    #[must_use]
    pub fn state(&self) -> State {
        self.now.state()
    }

    pub(crate) fn live(&self) -> Option<&Live> {
        match &self.now {
            JobRow::Live(live) => Some(live),
            JobRow::Done(_) => None,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Beat<J = Target> {
    pub worker: WorkerId,
    /// The state that the worker reports.
    pub state: Option<Directive>,
    /// The jobs that the worker believes it runs.
    pub jobs: Vec<J>,
    pub visibility_ms: Option<u64>,
    /// Registration fields that a heartbeat may repeat.
    pub about: Box<Registration>,
}

/// An operator's settings for one queue. `None` means the server's default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QueueSettings {
    /// The most jobs that may be active at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discarded_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_letter: Option<Arc<DeadLetterSettings>>,
}

/// A recurring schedule, already validated.
#[derive(Debug, Clone)]
pub struct CronSpec {
    pub name: CronName,
    pub expression: String,
    pub timezone: String,
    pub schedule: Schedule,
    pub overlap: Overlap,
    pub enabled: bool,
    pub class: Class,
    /// The body of its jobs; the id of each run is inserted.
    pub body: Bytes,
    /// Whether the caller's credentials prove the tenant; see [`NewJob::proven`].
    pub proven: bool,
    /// A JSON object for clients: type, args, options, description ...
    pub shown: Bytes,
}

/// Replaces an API key by a new one with the same name and the same rights.
#[derive(Debug, Clone)]
pub struct RotateKey {
    pub old: KeyId,
    pub new: KeyId,
    pub hash: KeyHash,
    /// How long the old key still works.
    pub overlap_ms: u64,
    /// When the new key ends; by default it lasts as long as the old one was to last.
    pub expires: Option<Millis>,
}

/// `now` plus `ms` milliseconds, without overflow.
pub(crate) fn later(now: Millis, ms: u64) -> Millis {
    Millis(now.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
}
