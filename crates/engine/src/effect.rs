//! What follows from a command: changes to be made durable, answers and events. The answers and
//! events may be released only when the changes are.

use std::sync::Arc;

use bytes::Bytes;
use rota_model::mutation::Mutation;
use rota_model::{
    Class, CronName, Directive, JobId, LimitKey, Millis, PoolName, QueueName, QueueStrategy, Seq,
    State, TenantId, WorkerId,
};

use crate::{
    Backpressure, CronView, LimitView, Maintenance, PoolView, QueueView, Strategy, TenantView,
    Throttle, WaiterId,
};

/// Collected over any number of commands, taken by the runtime for one commit.
#[derive(Debug, Default)]
pub struct Effects {
    pub mutations: Vec<Mutation>,
    /// Fetches and enqueues that had been waiting and are now answered.
    pub woken: Vec<(WaiterId, Reply)>,
    pub events: Vec<Event>,
}

/// The answer to a command.
#[derive(Debug)]
pub enum Reply {
    Enqueued(Admission),
    Fetched(Vec<Claimed>),
    /// The fetch or enqueue waits; its answer will be among [`Effects::woken`].
    Waiting,
    Settled(Vec<Result<Settled, Refusal>>),
    Beat(BeatReply),
    /// For each target: the state it was in, or why nothing was done.
    Changed(Vec<Result<Changed, Refusal>>),
    Queue(Box<QueueView>),
    Cron {
        cron: Box<CronView>,
        created: bool,
    },
    Maintenance(Maintenance),
    /// A tenant as it is now, and whether it is new.
    Tenant {
        tenant: Box<TenantView>,
        created: bool,
    },
    Pool {
        pool: Box<PoolView>,
        created: bool,
    },
    Limit(Box<LimitView>),
    /// So many finished jobs were removed.
    Forgotten(usize),
    Done,
    Refused(Refusal),
}

/// Jobs that were accepted, and what their sender should know.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Admission {
    pub jobs: Vec<Accepted>,
    /// Limits that were crossed although they only warn.
    pub over_quota: Vec<&'static str>,
    /// The fullest bounded queue among those that are nearly full.
    pub pressure: Option<Pressure>,
    /// How the limit of the last limited job stands.
    pub limit: Option<LimitGlance>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Pressure {
    pub depth: u64,
    pub bound: u64,
    pub ratio: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitGlance {
    pub limit: u64,
    pub remaining: u64,
    /// When there will be more room, as far as that is known.
    pub resets: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    pub seq: Seq,
    pub id: JobId,
    /// The client chose the id.
    pub id_given: bool,
    pub state: State,
    pub created: Millis,
    pub body: Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    pub seq: Seq,
    pub attempt: u32,
    /// It was available from the moment it was accepted, and no process has ended since.
    pub fresh: bool,
    pub started: Millis,
    /// The execution time that it has, and whether the job itself asked for it.
    pub timeout_ms: u64,
    pub own_timeout: bool,
    /// Its reservation, and whether the job itself asked for it.
    pub reserved_ms: u64,
    pub own_reservation: bool,
    pub worker: Option<WorkerId>,
}

/// What became of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    pub id: JobId,
    pub state: State,
    pub attempt: u32,
    pub max_attempts: u32,
    pub at: Millis,
    /// The next execution, when there will be one after a wait.
    pub next: Option<(Millis, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    pub id: JobId,
    pub before: State,
    pub after: Option<State>,
    pub at: Millis,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BeatReply {
    pub directive: Directive,
    pub extended: Vec<JobId>,
    /// Jobs that the worker believes it runs and that were cancelled.
    pub cancelled: Vec<JobId>,
    /// Jobs that the worker believes it runs and does not hold any more.
    pub lost: Vec<JobId>,
}

/// Why a command that was well formed did not do anything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Nobody knows this job. The runtime says so; the engine is only asked about known ones.
    UnknownJob,
    /// The id that a client chose, for this job of its request, is taken.
    IdTaken {
        id: JobId,
        index: usize,
    },
    NotActive {
        state: State,
    },
    /// Another worker or attempt holds the job.
    NotHolder {
        worker: Option<WorkerId>,
        attempt: u32,
    },
    Terminal {
        state: State,
    },
    NotPending {
        state: State,
    },
    NotRetryable {
        state: State,
    },
    /// An active job cannot be deleted.
    StillActive,
    UnknownWorker,
    WorkerNotStale,
    OtherPool {
        pool: Option<String>,
    },
    UnknownQueue,
    UnknownCron,
    TooManyQueues {
        limit: usize,
    },
    TooManyWorkers {
        limit: usize,
    },
    TooManyCrons {
        limit: usize,
    },
    TooManyPools {
        limit: usize,
    },
    TooManyLimits {
        limit: usize,
    },
    /// The tenant's living jobs wait for too many different limits.
    TooManyKeys {
        tenant: TenantId,
        limit: u32,
    },
    /// A limit that all tenants share was not declared.
    UndeclaredKey {
        key: LimitKey,
    },
    TenantLimit {
        tenant: TenantId,
        limit: &'static str,
        current: u64,
        maximum: u64,
        /// `None`: it will never fit.
        retry_ms: Option<u64>,
    },
    QueueFull {
        queue: QueueName,
        tenant: Option<TenantId>,
        /// In jobs, or in bytes.
        depth: u64,
        bound: u64,
        in_bytes: bool,
        strategy: Backpressure,
        retry_ms: Option<u64>,
    },
    UnknownPool,
    /// Neither the fetch nor a pool says from which queues.
    NoQueues,
    /// These queues are not among the pool's.
    NotInPool {
        pool: PoolName,
        queue: QueueName,
    },
    UnknownTenant,
    TenantHasJobs {
        living: u64,
    },
    NotThrottled,
    UnknownLimit,
}

#[derive(Debug, Clone)]
pub struct Event {
    pub at: Millis,
    pub kind: EventKind,
}

#[derive(Debug, Clone)]
pub enum EventKind {
    /// The job may run from now on.
    Enqueued {
        job: JobRef,
    },
    Scheduled {
        job: JobRef,
        due: Millis,
    },
    Started {
        job: JobRef,
        attempt: u32,
        worker: Option<WorkerId>,
    },
    Completed {
        job: JobRef,
        attempt: u32,
        duration_ms: u64,
    },
    /// `error` is JSON members without braces, here and below.
    Failed {
        job: JobRef,
        attempt: u32,
        error: Bytes,
        duration_ms: u64,
    },
    Retrying {
        job: JobRef,
        attempt: u32,
        next: Millis,
        error: Bytes,
    },
    Discarded {
        job: JobRef,
        attempt: u32,
        reason: &'static str,
        error: Bytes,
    },
    Cancelled {
        job: JobRef,
        attempt: u32,
        before: State,
    },
    Expired {
        job: JobRef,
        deadline: Option<Millis>,
    },
    Extended {
        job: JobRef,
        attempt: u32,
        worker: WorkerId,
        until: Millis,
    },
    WorkerStarted {
        worker: WorkerId,
    },
    WorkerQuieted {
        worker: WorkerId,
        active: usize,
    },
    WorkerBeat {
        worker: WorkerId,
        active: usize,
    },
    WorkerStopped {
        worker: WorkerId,
        reason: &'static str,
        since: Millis,
    },
    /// For one tenant, or for all.
    QueuePaused {
        queue: QueueName,
        tenant: Option<TenantId>,
    },
    QueueResumed {
        queue: QueueName,
        tenant: Option<TenantId>,
    },
    CronTriggered {
        cron: CronName,
        expression: Arc<str>,
        job: JobRef,
        scheduled_for: Millis,
        run_count: u64,
    },
    TenantCreated {
        tenant: TenantId,
    },
    TenantLimitExceeded {
        tenant: TenantId,
        limit: &'static str,
        current: u64,
        maximum: u64,
        /// The job was admitted all the same.
        soft: bool,
    },
    TenantThrottled {
        tenant: TenantId,
        reason: &'static str,
        /// Nothing was done about it: it was only noticed.
        throttle: Option<Throttle>,
    },
    TenantThrottleReleased {
        tenant: TenantId,
        reason: &'static str,
    },
    LimitExceeded {
        key: LimitKey,
        tenant: Option<TenantId>,
        class: Arc<Class>,
        strategy: Strategy,
        limit: u64,
        current: u64,
    },
    LimitReleased {
        key: LimitKey,
        tenant: Option<TenantId>,
        strategy: Strategy,
        job: JobRef,
    },
    LimitDropped {
        key: LimitKey,
        tenant: Option<TenantId>,
        job: JobRef,
    },
    LimitAdjusted {
        key: LimitKey,
        tenant: Option<TenantId>,
        until: Option<Millis>,
        reason: Arc<str>,
    },
    QueueStarved {
        queue: QueueName,
        for_ms: u64,
        available: u64,
    },
    PoolOverloaded {
        pool: PoolName,
        active: u64,
        waiting: u64,
    },
    PoolRebalanced {
        pool: PoolName,
        previous: Option<QueueStrategy>,
        new: QueueStrategy,
    },
    QueueNearlyFull {
        queue: QueueName,
        depth: u64,
        bound: u64,
    },
    QueueRejected {
        queue: QueueName,
        depth: u64,
        bound: u64,
        class: Arc<Class>,
    },
    QueueDropped {
        queue: QueueName,
        job: JobRef,
    },
    QueueCleared {
        queue: QueueName,
        depth: u64,
        bound: u64,
    },
    CronSkipped {
        cron: CronName,
        expression: Arc<str>,
        class: Arc<Class>,
        reason: &'static str,
        existing: Option<Seq>,
        scheduled_for: Millis,
    },
}

/// A job in an event.
#[derive(Debug, Clone)]
pub struct JobRef {
    pub seq: Seq,
    /// Where the engine happens to know it; elsewhere it is looked up by who wants to see it.
    pub id: Option<JobId>,
    pub class: Arc<Class>,
}

impl JobRef {
    #[must_use]
    pub(crate) fn named(mut self, id: JobId) -> Self {
        self.id = Some(id);
        self
    }
}
