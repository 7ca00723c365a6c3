//! Commands that were understood and not done.

use rota_model::{JobId, LimitKey, PoolName, QueueName, State, TenantId, WorkerId};

use crate::{Backpressure, CapReached};

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
    /// The worker of this name is an operator's or another tenant's.
    OthersWorker,
    WorkerNotStale,
    OtherPool {
        pool: PoolName,
    },
    UnknownQueue,
    QueueHasJobs {
        living: u64,
    },
    UnknownCron,
    CapReached(CapReached),
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
    UnknownPool {
        pool: PoolName,
    },
    /// The ratio that each queue is guaranteed, times the queues of this fetch, is more than 1.
    RatioTooLarge {
        queues: usize,
    },
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

impl From<CapReached> for Refusal {
    fn from(reached: CapReached) -> Self {
        Refusal::CapReached(reached)
    }
}
