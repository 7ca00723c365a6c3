//! Requests to the engine thread, and its answers.

use rota_engine::{Claimed, Command, Engine, Explained, Reply};
use rota_model::{JobId, Seq, TenantId};
use rota_store::Body;
use tokio::sync::oneshot;

/// A request to the engine thread. It names jobs by their ids, which the engine thread resolves.
pub enum Ask {
    Command(Command<JobId>),
    /// Why a job has not started.
    Explain(JobId),
    /// Remove up to this many finished jobs whose retention has passed.
    Purge(usize),
}

impl From<Command<JobId>> for Ask {
    fn from(command: Command<JobId>) -> Self {
        Self::Command(command)
    }
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
