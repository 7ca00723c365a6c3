use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::Failure;
use super::backoff::Backoff;
use super::stop::Orders;
use crate::{Ack, Client, Error, Job, Kept, Nack, Settled};

/// Whether the server knows how a job ended.
#[derive(Debug)]
pub enum Reported {
    /// The server took it, and this became of the job.
    Taken(Taken),
    /// The job is not this worker's any more, or not known.
    Refused(Error),
    /// The server was away for too long. The job returns when its reservation ends.
    GivenUp(Error),
    /// There was nothing to report.
    Unneeded,
}

/// The server has taken the outcome.
#[derive(Debug)]
pub struct Taken {
    /// What became of the job; not known if the answer was lost.
    pub settled: Option<Kept<Settled>>,
    /// Why the result or the details of the error had to be left out.
    pub left_out: Option<Error>,
}

/// What the server is told about a job that has ended here.
pub(super) enum Report {
    Done(Ack),
    Failed(Nack, Failure),
}

impl Report {
    pub fn done(job: &Job, worker: &str, result: Option<Box<RawValue>>) -> Self {
        Self::Done(Ack {
            job_id: job.id.clone(),
            worker_id: Some(worker.to_owned()),
            attempt: Some(job.attempt),
            result,
        })
    }

    pub fn failed(job: &Job, worker: &str, failure: Failure) -> Self {
        Self::nack(job, worker, failure, false)
    }

    pub fn hand_back(job: &Job, worker: &str) -> Self {
        let failure = Failure::new("ShutdownError", "the worker ended before the job was done");
        Self::nack(job, worker, failure, true)
    }

    fn nack(job: &Job, worker: &str, failure: Failure, requeue: bool) -> Self {
        let nack = Nack {
            job_id: job.id.clone(),
            worker_id: Some(worker.to_owned()),
            attempt: Some(job.attempt),
            error: failure.json(),
            requeue,
        };
        Self::Failed(nack, failure)
    }

    /// Says it until the server has understood, or there is no sense in it any more.
    pub async fn send(mut self, client: &Client, orders: &mut watch::Receiver<Orders>) -> Reported {
        let mut backoff = Backoff::default();
        let (mut may_be_known, mut left_out) = (false, None);
        loop {
            let error = match self.try_send(client).await {
                Ok(settled) => return Reported::Taken(Taken { settled: Some(settled), left_out }),
                Err(error) => error,
            };
            if may_pass(&error) {
                may_be_known |= !matches!(error, Error::Unreachable { .. });
                let wait = backoff.next();
                if Instant::now() + wait > orders.borrow_and_update().give_up_at() {
                    return Reported::GivenUp(error);
                }
                sleep(wait).await;
                continue;
            }
            match error.refusal().map(|refusal| refusal.status) {
                // The answer to an earlier try was lost, and it had been carried out.
                Some(409) if may_be_known && self.agrees_with(&error) => {
                    return Reported::Taken(Taken { settled: None, left_out });
                }
                Some(404 | 409) => return Reported::Refused(error),
                _ if left_out.is_none() => {
                    self = self.shortened();
                    left_out = Some(error);
                }
                _ => return Reported::GivenUp(error),
            }
        }
    }

    async fn try_send(&self, client: &Client) -> Result<Kept<Settled>, Error> {
        match self {
            Self::Done(ack) => client.ack(ack).await,
            Self::Failed(nack, _) => client.nack(nack).await,
        }
    }

    fn agrees_with(&self, conflict: &Error) -> bool {
        let state = conflict.refusal().and_then(|refusal| refusal.details.get("current_state"));
        match (self, state.and_then(|state| state.as_str())) {
            (Self::Done(_), state) => state == Some("completed"),
            (Self::Failed(nack, _), Some("available" | "active")) => nack.requeue,
            (Self::Failed(..), state) => matches!(state, Some("retryable" | "discarded")),
        }
    }

    /// A job that has been done is not done again because its result is too large.
    fn shortened(self) -> Self {
        match self {
            Self::Done(ack) => Self::Done(Ack { result: None, ..ack }),
            Self::Failed(nack, failure) => {
                let short = failure.shortened();
                Self::Failed(Nack { error: short.json(), ..nack }, failure)
            }
        }
    }
}

/// Whether it may go away by itself. Also a proxy whose server is away answers, and not in OJS.
pub(super) fn may_pass(error: &Error) -> bool {
    let status = match error {
        Error::Refused(refusal) => Some(refusal.status),
        Error::NotOjs { status, .. } => *status,
        _ => None,
    };
    error.is_transient() || matches!(status, Some(429 | 500..))
}
