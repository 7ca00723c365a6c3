//! The requests that the engine thread takes, and its answers.

use std::sync::Arc;

use rota_engine::{Claimed, Command, Engine, Event, Explained, Reply, Settle};
use rota_model::{Class, JobId, QueueName, Seq, TenantId};
use rota_store::Body;
use tokio::sync::oneshot;

use super::About;
use super::prefetch::Prefetched;
use crate::audit::Act;

/// A request to the engine thread. It names jobs by id; the engine thread resolves the ids.
pub enum Ask {
    Command(Command<JobId>),
    /// A command of an administrative act, which goes into the audit log.
    Act(Command<JobId>, Arc<Act>),
    /// Delete up to this many entries of the audit log that are too old or too many.
    TrimAudit(usize),
    /// Explain why a job has not started.
    Explain(JobId),
    /// Remove up to this many finished jobs whose retention has passed.
    Purge(usize),
    /// Replay up to this many jobs of the dead letter whose rule says so by now.
    Replay(usize),
}

impl From<Command<JobId>> for Ask {
    fn from(command: Command<JobId>) -> Self {
        Self::Command(command)
    }
}

/// The engine thread's answer to an [`Ask`].
#[derive(Debug)]
pub enum Answer {
    Reply(Reply),
    Fetched(Vec<Delivery>),
    /// `None` if there is no such job.
    Explained(Option<Box<Explained>>),
    Unavailable(Unavailable),
}

/// A claimed job on its way to a worker.
#[derive(Debug)]
pub struct Delivery {
    pub claimed: Claimed,
    /// The job's body if it was cached; otherwise the handler reads it from the store.
    pub body: Option<Body>,
}

/// Why a request was not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unavailable {
    /// The mailbox is full, or the engine did not answer in time.
    Busy,
    /// The disk is full: new jobs and schedules are not accepted.
    DiskFull,
    /// The commit was rolled back, so the change did not happen.
    NotWritten,
    /// What had to be read for the request is damaged.
    Damaged,
    ShuttingDown,
}

/// On whose behalf a request is carried out. Jobs of others do not exist for it.
#[derive(Debug, Clone, Default)]
pub struct CallerScope {
    /// `None` for an operator or the server itself.
    pub tenant: Option<TenantId>,
    /// The only queues whose jobs exist for the caller; `None` for all.
    pub queues: Option<Arc<[QueueName]>>,
}

impl CallerScope {
    /// Whether jobs of this class exist for the caller.
    #[must_use]
    pub fn covers(&self, class: &Class) -> bool {
        self.tenant.as_ref().is_none_or(|own| *own == class.tenant)
            && self.sees_queue(class.queue.local())
    }

    /// Whether an event is about something that exists for the caller.
    #[must_use]
    pub fn sees_event(&self, event: &Event) -> bool {
        if self.tenant.is_none() && self.queues.is_none() {
            return true;
        }
        let about = About::of(&event.kind);
        self.tenant.as_ref().is_none_or(|own| about.tenant == Some(&**own))
            && (self.queues.is_none() || about.queue.is_some_and(|queue| self.sees_queue(queue)))
    }

    /// Whether a queue exists for the caller, by its name without a namespace.
    #[must_use]
    pub fn sees_queue(&self, local: &str) -> bool {
        self.queues.as_ref().is_none_or(|list| list.iter().any(|name| **name == *local))
    }
}

/// A request on its way.
pub(super) struct Request {
    pub ask: Ask,
    /// On whose behalf it is carried out; `None` for the server itself.
    pub caller: Option<CallerScope>,
    /// `None` if nobody waits for the answer.
    pub responder: Option<oneshot::Sender<Answer>>,
}

/// One message in the engine thread's mailbox.
pub(super) enum Input {
    Request(Request),
    /// A request with the facts that it needs.
    Prefetched(Prefetched),
    /// Ids of active jobs, which saves the resolver from reading them from the store.
    ActiveIds(Vec<(JobId, Seq)>),
    /// Runs a function that reads the engine's state.
    Look(Box<dyn FnOnce(&Engine) + Send>),
}

impl Request {
    /// A request of the server itself, whose answer is dropped.
    pub fn tell(command: Command<JobId>) -> Self {
        Self { ask: Ask::Command(command), caller: None, responder: None }
    }

    /// The bytes that the request brings, roughly. Each job after the first counts for some more, because a
    /// small one costs more than its bytes.
    pub fn bytes(&self) -> usize {
        match &self.ask {
            Ask::Command(command) | Ask::Act(command, _) => bytes_of(command),
            _ => 0,
        }
    }
}

impl Input {
    /// The bytes that the message brings, roughly.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Request(request) => request.bytes(),
            Self::Prefetched(prefetched) => prefetched.request.bytes(),
            Self::ActiveIds(_) | Self::Look(_) => 0,
        }
    }
}

/// What a job costs beside its bytes.
const JOB_COST: usize = 1 << 10;

fn bytes_of(command: &Command<JobId>) -> usize {
    let of_all = |count: usize, bytes: usize| count.saturating_sub(1) * JOB_COST + bytes;
    match command {
        Command::Enqueue(enqueue) => {
            of_all(enqueue.jobs.len(), enqueue.jobs.iter().map(|job| job.body.len()).sum())
        }
        Command::Settle(settles) => {
            of_all(settles.len(), settles.iter().map(bytes_of_settle).sum())
        }
        Command::PutCron(spec) => spec.body.len() + spec.shown.len(),
        Command::TriggerCron { bytes, .. } => *bytes,
        Command::Register(about) => about.bytes(),
        _ => 0,
    }
}

fn bytes_of_settle(settle: &Settle<JobId>) -> usize {
    match settle {
        Settle::Ack(ack) => ack.result.as_ref().map_or(0, bytes::Bytes::len),
        Settle::Nack(nack) => nack.failure.json.len(),
    }
}

#[cfg(test)]
mod tests {
    use rota_engine::Registration;
    use rota_model::{CronName, WorkerId};

    use super::*;

    /// Otherwise one tenant's large commits would delay the others.
    #[test]
    fn what_is_large_counts_with_its_bytes_whoever_keeps_it() {
        let name = CronName::parse("nightly").unwrap();
        let run = Command::TriggerCron { name, bytes: 9_000 };
        let version = Some("x".repeat(9_000));
        let about = Registration { version, ..Registration::named(WorkerId::parse("w").unwrap()) };
        for command in [run, Command::Register(about.into())] {
            assert!(bytes_of(&command) >= 9_000);
        }
    }
}
