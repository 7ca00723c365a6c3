//! Refusals: why a well-formed command was not carried out.

use rota_identity::{KeyId, KeyState};
use rota_model::{JobId, LimitKey, PoolName, QueueName, Seq, State, TenantId, WorkerId};

use crate::{Backpressure, CapReached};

/// Why a well-formed command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// There is no such job. Only the runtime returns this; the engine is given existing jobs.
    UnknownJob,
    /// The client-chosen id of this job of the request is in use.
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
    /// Only a job that waits for its first execution, or waits in its queue, can have another priority.
    NotWaiting {
        state: State,
    },
    /// An active job cannot be deleted.
    StillActive,
    /// The job has changed since it was read or selected.
    NoLongerSelected {
        state: State,
    },
    UnknownWorker,
    /// A worker of this id belongs to an operator or another tenant.
    OthersWorker,
    WorkerNotStale,
    OtherPool {
        pool: PoolName,
    },
    UnknownQueue,
    QueueExists,
    QueueHasJobs {
        living: u64,
    },
    UnknownCron,
    /// The schedule's overlap policy is `skip`, and this job of an earlier run has not ended.
    RunUnfinished {
        run: Seq,
    },
    CapReached(CapReached),
    /// A shared limit is not declared, and must be.
    UndeclaredKey {
        key: LimitKey,
    },
    /// `feedback` belongs to a declaration, and the limit has none.
    NotDeclared,
    TenantLimit {
        tenant: TenantId,
        limit: &'static str,
        current: u64,
        maximum: u64,
        /// `None` if it will never fit.
        retry_ms: Option<u64>,
        /// A single job is larger than the limit.
        job_too_large: bool,
    },
    QueueFull {
        queue: QueueName,
        tenant: Option<TenantId>,
        /// In jobs or bytes, as `in_bytes` says; so is `bound`.
        depth: u64,
        bound: u64,
        in_bytes: bool,
        strategy: Backpressure,
        retry_ms: Option<u64>,
    },
    /// There is no such pool, or none that the caller may use.
    UnknownPool {
        pool: PoolName,
    },
    /// A tenant would change a pool of the operator's.
    OperatorsPool {
        pool: PoolName,
    },
    /// The guaranteed ratio, times the queues of this fetch, is more than 1.
    RatioTooLarge {
        queues: usize,
    },
    /// Neither the fetch, its pool nor its worker names queues.
    NoQueues,
    /// The pool does not serve this queue.
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
    UnknownKey,
    /// There is another key of this id.
    KeyExists,
    /// The key was revoked or has expired.
    KeyEnded {
        state: KeyState,
    },
    /// The key was rotated before, and its successor works.
    KeyRotated {
        successor: KeyId,
    },
    /// The record of a key that works cannot be removed.
    KeyActive,
    /// The record of the first key is kept, so that the key does not come back.
    KeyKept,
}

impl From<CapReached> for Refusal {
    fn from(reached: CapReached) -> Self {
        Refusal::CapReached(reached)
    }
}
