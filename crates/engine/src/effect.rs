//! What follows from a command: changes to be made durable, answers and events. The answers and
//! events may be released only when the changes are.

use bytes::Bytes;
use rota_model::mutation::Mutation;
use rota_model::{Directive, JobId, Millis, Seq, State, WorkerId};

use crate::{
    CronView, Event, LimitView, Maintenance, PoolView, QueueView, Refusal, TenantView, WaiterId,
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
    pub limit: Option<LimitStatus>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Pressure {
    pub depth: u64,
    /// None when it is 0: only bytes are bounded.
    pub bound: u64,
    pub ratio: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitStatus {
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
    /// The job asks for a longer one than its worker may have.
    pub reservation_cut: bool,
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
