//! Reporting the outcome of an execution to the server.

use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::Failure;
use super::backoff::Backoff;
use super::stop_signal::JobOrders;
use crate::{Ack, Client, Error, Job, Nack, Settled, WithJson};

/// Whether the server has accepted the report of an execution.
#[derive(Debug)]
pub enum Reported {
    /// The server accepted the report.
    Taken(Taken),
    /// The job does not belong to this worker any more, or does not exist.
    Refused(Error),
    /// The server was unreachable for too long. It requeues the job when the reservation ends.
    GivenUp(Error),
    /// No report was needed.
    Unneeded,
}

/// An accepted report.
#[derive(Debug)]
pub struct Taken {
    /// The state of the job; `None` if the response was lost.
    pub settled: Option<WithJson<Settled>>,
    /// Why the result or the details of the error were left out, if they were.
    pub left_out: Option<Error>,
}

/// The report of an execution.
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

    /// Sends the report until the server accepts or rejects it, or the reservation must have ended.
    pub async fn send(
        mut self,
        client: &Client,
        orders: &mut watch::Receiver<JobOrders>,
    ) -> Reported {
        let mut backoff = Backoff::default();
        let (mut may_be_known, mut left_out) = (false, None);
        loop {
            let error = match self.try_send(client).await {
                Ok(settled) => return Reported::Taken(Taken { settled: Some(settled), left_out }),
                Err(error) => error,
            };
            if is_retryable(&error) {
                may_be_known |= !matches!(error, Error::Unreachable { .. });
                let wait = backoff.next();
                if Instant::now() + wait > orders.borrow_and_update().give_up_at() {
                    return Reported::GivenUp(error);
                }
                sleep(wait).await;
                continue;
            }
            match error.refusal().map(|refusal| refusal.status) {
                // An earlier attempt succeeded, but its response was lost.
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

    async fn try_send(&self, client: &Client) -> Result<WithJson<Settled>, Error> {
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

    /// The report without its large parts, so that a job is not repeated because its result is too large.
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

/// Whether a retry may succeed. This includes errors of a proxy whose server is unreachable, which are
/// not OJS responses.
pub(super) fn is_retryable(error: &Error) -> bool {
    let status = match error {
        Error::Refused(refusal) => Some(refusal.status),
        Error::NotOjs { status, .. } => *status,
        _ => None,
    };
    error.is_transient() || matches!(status, Some(429 | 500..))
}
