//! Requests of clients and operators, which name jobs by id.

use bytes::Bytes;
use rota_engine::{
    CronSpec, Failure, Fetch, Holder, Override, PutLimit, QueueSettings, Registration, Unchanged,
    Undelivered, WaiterId,
};
use rota_model::envelope::NewJob;
use rota_model::{
    CronName, Directive, JobId, LimitKey, PoolConfig, PoolName, QueueName, TenantConfig, TenantId,
    WorkerId,
};

#[derive(Debug, Clone)]
pub enum Request {
    Enqueue {
        jobs: Vec<NewJob>,
        /// Wait this long for room.
        wait: Option<(WaiterId, u64)>,
    },
    Fetch(Fetch),
    StopWaiting(WaiterId),
    /// The connection broke before these claims could be handed over.
    Undelivered(Undelivered),
    Settle(Vec<Word>),
    Beat {
        worker: WorkerId,
        state: Option<Directive>,
        jobs: Vec<JobId>,
        visibility_ms: Option<u64>,
        concurrency: Option<u32>,
    },
    Register(Registration),
    Deregister(WorkerId),
    DropStaleWorker(WorkerId),
    Direct(WorkerId, Directive),
    Cancel(Vec<JobId>),
    CancelCooperatively(Vec<JobId>),
    Activate(JobId),
    /// Another priority, for the job as it is now, or as it was before (`stale`).
    SetPriority {
        job: JobId,
        priority: i16,
        body: Bytes,
        stale: bool,
    },
    Retry(Vec<JobId>),
    Delete(Vec<JobId>),
    DeleteOnly(Vec<JobId>, Unchanged),
    RetryOnly(Vec<JobId>, Unchanged),
    /// Retry a job with another class and body.
    RetryAs(JobId, Box<Override>),
    /// Remove up to this many jobs of a dead letter that are too old or too many.
    Prune(usize),
    /// Replay up to this many jobs of the dead letter.
    Replay(usize),
    /// Remove up to this many finished jobs whose retention has passed.
    Retain(usize),
    CreateQueue(QueueName, QueueSettings),
    PauseQueue(QueueName),
    ResumeQueue(QueueName),
    ConfigureQueue(QueueName, QueueSettings),
    DeleteQueue(QueueName),
    PutCron(Box<CronSpec>),
    RemoveCron(CronName),
    EnableCron(CronName, bool),
    TriggerCron(CronName),
    PauseShard(TenantId, QueueName),
    ResumeShard(TenantId, QueueName),
    PutTenant(TenantId, TenantConfig),
    DeleteTenant(TenantId),
    ReleaseTenant(TenantId),
    PutPool(PoolName, Box<PoolConfig>),
    RemovePool(PoolName),
    PutLimit(Box<PutLimit>),
    ClearLimit(LimitKey, Option<TenantId>),
    Maintain(bool),
    /// Refusals that are written into the audit log together.
    Audit(u64),
    /// Delete up to this many entries of the audit log that are too old or too many.
    TrimAudit(usize),
    Tick,
}

/// A worker's word on one execution.
#[derive(Debug, Clone)]
pub struct Word {
    pub job: JobId,
    pub holder: Holder,
    pub verdict: Verdict,
}

#[derive(Debug, Clone)]
pub enum Verdict {
    Ack(Option<Bytes>),
    Nack { failure: Failure, requeue: bool, proven: bool },
}

/// Who asked; a waiting fetch waits under the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Why a request never reached the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turned {
    NotFound,
    /// The id that the client chose is taken.
    Duplicate,
}
