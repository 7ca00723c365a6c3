//! Events: what happened, for subscribers.

use std::sync::Arc;

use bytes::Bytes;
use rota_model::{
    Class, CronName, JobId, LimitKey, Millis, PoolName, PruningPolicy, QueueName, QueueStrategy,
    RuleName, Seq, State, TenantId, WorkerId,
};

use crate::{LimitKind, Throttle};

#[derive(Debug, Clone)]
pub struct Event {
    pub at: Millis,
    pub kind: EventKind,
}

#[derive(Debug, Clone)]
pub enum EventKind {
    /// The job is available. `from` is the state before, here and below; `None` for a new job.
    Enqueued {
        job: JobRef,
        from: Option<State>,
    },
    Scheduled {
        job: JobRef,
        due: Millis,
        from: Option<State>,
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
        /// Empty for a job that was dropped without having failed.
        error: Bytes,
        from: State,
    },
    /// The job enters the dead letter.
    DeadLetterAdded {
        job: JobRef,
        attempt: u32,
        error: Bytes,
    },
    DeadLetterRetried {
        job: JobRef,
    },
    /// A rule has replayed the job, `count` times including this one by any rule.
    DeadLetterReplayed {
        job: JobRef,
        rule: RuleName,
        count: u32,
    },
    DeadLetterDeleted {
        job: JobRef,
    },
    DeadLetterPruned {
        queue: QueueName,
        tenant: TenantId,
        count: u64,
        policy: PruningPolicy,
    },
    Cancelled {
        job: JobRef,
        attempt: u32,
        before: State,
    },
    /// A job that had not ended was deleted. Deleting one that had is no event of its own.
    Deleted {
        job: JobRef,
        before: State,
    },
    Expired {
        job: JobRef,
        deadline: Option<Millis>,
        from: State,
    },
    PriorityChanged {
        job: JobRef,
        previous: i16,
    },
    Extended {
        job: JobRef,
        attempt: u32,
        worker: WorkerId,
        until: Millis,
    },
    WorkerStarted {
        worker: WorkerId,
        queues: Arc<[QueueName]>,
        concurrency: Option<u32>,
    },
    WorkerQuieted {
        worker: WorkerId,
        active: usize,
    },
    WorkerBeat {
        worker: WorkerId,
        active: usize,
        /// Shared with the worker's entry and its other events.
        queues: Arc<[QueueName]>,
    },
    WorkerStopped {
        worker: WorkerId,
        reason: &'static str,
        since: Millis,
    },
    /// For all tenants if `tenant` is `None`, here and below.
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
        /// The jobs were admitted nevertheless.
        soft: bool,
    },
    TenantThrottled {
        tenant: TenantId,
        reason: &'static str,
        throttle: Throttle,
    },
    /// A tenant is noisy and is not throttled.
    TenantNoisy {
        tenant: TenantId,
        reason: &'static str,
    },
    TenantThrottleReleased {
        tenant: TenantId,
        reason: &'static str,
    },
    LimitExceeded {
        key: LimitKey,
        tenant: Option<TenantId>,
        class: Arc<Class>,
        strategy: LimitKind,
        limit: u64,
        current: u64,
    },
    LimitReleased {
        key: LimitKey,
        tenant: Option<TenantId>,
        strategy: LimitKind,
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
    /// Set if the engine has it; otherwise it is looked up by the reader.
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
