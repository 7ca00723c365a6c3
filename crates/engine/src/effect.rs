//! Effects: the mutations, replies and events that follow from commands. Replies and events may be
//! released only after the mutations are committed.

use bytes::Bytes;
use rota_identity::ApiKey;
use rota_model::mutation::Mutation;
use rota_model::{Directive, JobId, Millis, Seq, State, WorkerId};

use crate::{
    CronView, Event, LimitView, Maintenance, PoolView, QueueView, Refusal, TenantView, WaiterId,
};

/// Collected over any number of commands and taken by the runtime for one commit.
#[derive(Debug, Default)]
pub struct Effects {
    pub mutations: Vec<Mutation>,
    /// Waiting fetches and enqueues that are answered now.
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
    /// For each target, the change or why there was none.
    Changed(Vec<Result<Changed, Refusal>>),
    Queue(Box<QueueView>),
    Cron {
        cron: Box<CronView>,
        created: bool,
    },
    /// A run of a schedule that was triggered by request.
    Triggered {
        cron: Box<CronView>,
        job: Box<Accepted>,
    },
    Maintenance(Maintenance),
    /// The tenant, and whether it is new.
    Tenant {
        tenant: Box<TenantView>,
        created: bool,
    },
    Pool {
        pool: Box<PoolView>,
        created: bool,
    },
    Limit(Box<LimitView>),
    Key(Box<ApiKey>),
    /// The old key, which works for a while, and the new one.
    KeyRotated {
        old: Box<ApiKey>,
        new: Box<ApiKey>,
    },
    /// The number of finished jobs that were removed.
    Forgotten(usize),
    Done,
    Refused(Refusal),
}

/// Accepted jobs, and warnings for the client.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Admission {
    pub jobs: Vec<Accepted>,
    /// Soft limits that were exceeded.
    pub over_quota: Vec<&'static str>,
    /// The fullest of the queues that are nearly full.
    pub pressure: Option<Pressure>,
    /// The current use of the limit of the last job that has one.
    pub limit: Option<LimitStatus>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Pressure {
    pub depth: u64,
    /// 0 if only bytes are bounded.
    pub bound: u64,
    pub ratio: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitStatus {
    pub limit: u64,
    pub remaining: u64,
    /// When there will be more room, if known; otherwise now.
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
    /// It has been available since it was accepted, and the process has not restarted since.
    pub fresh: bool,
    pub started: Millis,
    /// The execution timeout, and whether the job set it.
    pub timeout_ms: u64,
    pub own_timeout: bool,
    /// The reservation, and whether the job set it.
    pub reserved_ms: u64,
    pub own_reservation: bool,
    /// The job set a longer reservation than its worker may have.
    pub reservation_cut: bool,
    pub worker: Option<WorkerId>,
}

/// The result of an execution that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    pub id: JobId,
    pub state: State,
    pub attempt: u32,
    pub max_attempts: u32,
    pub at: Millis,
    /// When the job runs again, and the delay in ms, if it is retried later.
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
    /// Jobs in the heartbeat that were cancelled.
    pub cancelled: Vec<JobId>,
    /// Jobs in the heartbeat that the worker holds and is to cancel.
    pub cancel_requested: Vec<JobId>,
    /// Jobs in the heartbeat that the worker no longer holds.
    pub lost: Vec<JobId>,
}
