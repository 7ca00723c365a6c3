//! What the outside asks of the engine thread, and what it is told.

use bytes::Bytes;
use rota_engine::{
    Claimed, Command, Engine, Enqueue, Explained, Failure, Fetch, Holder, Registration, Reply,
};
use rota_model::{Directive, JobId, Seq, TenantId, WorkerId};
use rota_store::Body;
use tokio::sync::oneshot;

/// Jobs are named by their ids here; the engine thread finds out what stands behind them.
pub enum Ask {
    Enqueue(Enqueue),
    Fetch(Fetch),
    Settle(Vec<SettleAsk>),
    Beat {
        worker: WorkerId,
        state: Option<Directive>,
        jobs: Vec<JobId>,
        visibility_ms: Option<u64>,
        about: Box<Registration>,
    },
    Cancel(Vec<JobId>),
    Activate(JobId),
    Retry(Vec<JobId>),
    Delete(Vec<JobId>),
    /// Why a job has not started.
    Explain(JobId),
    /// Remove some finished jobs whose retention has passed, at most this many.
    Sweep(usize),
    /// A command that names no job.
    Command(Command),
}

/// One execution that ended.
pub struct SettleAsk {
    pub job: JobId,
    pub holder: Holder,
    pub outcome: Result<Option<Bytes>, (Failure, bool)>,
}

#[derive(Debug)]
pub enum Answer {
    Reply(Reply),
    Fetched(Vec<Delivery>),
    /// `None`: nobody knows the job.
    Explained(Option<Box<Explained>>),
    Unavailable(Unavailable),
}

/// A job for a worker.
#[derive(Debug)]
pub struct Delivery {
    pub claimed: Claimed,
    /// Its body, if that was at hand.
    pub body: Option<Body>,
}

/// Why there is no answer at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unavailable {
    /// Too many requests are waiting already.
    Busy,
    /// The disk is full: nothing new is accepted.
    DiskFull,
    /// The change could not be written and did not happen.
    NotWritten,
    ShuttingDown,
}

/// What the engine thread receives.
pub(super) enum Input {
    /// For a tenant, jobs of others do not exist.
    Ask(Ask, Option<TenantId>, oneshot::Sender<Answer>),
    /// Nobody waits for an answer.
    Tell(Ask),
    /// The ids of active jobs.
    Ids(Vec<(JobId, Seq)>),
    /// Look, without changing anything.
    Look(Box<dyn FnOnce(&Engine) + Send>),
    Stop,
}
