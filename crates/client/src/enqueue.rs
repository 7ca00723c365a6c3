//! Enqueueing jobs, so that a request that is sent twice makes one job.

use std::time::Duration;

use http::Method;
use serde::Serialize;

use crate::envelope::Envelope;
use crate::error::RefusedJob;
use crate::job::{ManyJobs, OneJob};
use crate::response::Response;
use crate::retries::Repeatable;
use crate::{Client, Error, Job, WithJson};

/// Enqueued jobs with warnings.
#[derive(Debug, Clone)]
pub struct Enqueued<T> {
    /// The enqueued job or jobs.
    pub what: T,
    /// Exceeded soft quotas of the tenant.
    pub quota_exceeded: Vec<String>,
}

#[derive(Serialize)]
struct Batch<'a> {
    jobs: &'a [Envelope],
}

impl Client {
    /// Enqueues one job: a [`NewJob`](crate::NewJob), or anything else that serializes to an envelope.
    ///
    /// A job without an id gets one here, so the request can be repeated after a lost answer: the server has one
    /// job in the end, and this returns it. If the id is given and the server has a job with that id and the same
    /// content, this returns that one.
    pub async fn enqueue(&self, job: &impl Serialize) -> Result<WithJson<Job>, Error> {
        Ok(self.enqueue_with_warnings(job).await?.what)
    }

    /// Enqueues and also returns the warnings of the server.
    pub async fn enqueue_with_warnings(
        &self,
        job: &impl Serialize,
    ) -> Result<Enqueued<WithJson<Job>>, Error> {
        let envelope = Envelope::new(job)?;
        let answer = self.enqueue_json(&["jobs"], &envelope).await?;
        if let Some(job) = existing(&answer, &envelope) {
            return Ok(Enqueued { what: job, quota_exceeded: Vec::new() });
        }
        let OneJob { job, quota_exceeded } = answer.read()?;
        Ok(Enqueued { what: job, quota_exceeded })
    }

    /// Enqueues all jobs or none.
    pub async fn enqueue_batch(
        &self,
        jobs: &[impl Serialize],
    ) -> Result<Vec<WithJson<Job>>, Error> {
        Ok(self.enqueue_batch_with_warnings(jobs).await?.what)
    }

    /// Enqueues and also returns the warnings of the server.
    pub async fn enqueue_batch_with_warnings(
        &self,
        jobs: &[impl Serialize],
    ) -> Result<Enqueued<Vec<WithJson<Job>>>, Error> {
        let envelopes = jobs.iter().map(Envelope::new).collect::<Result<Vec<_>, _>>()?;
        let answer = self.enqueue_json(&["jobs", "batch"], &Batch { jobs: &envelopes }).await?;
        let first = envelopes.first().filter(|first| existing(&answer, first).is_some());
        if first.is_some() {
            // A batch is enqueued whole or not at all, so an earlier attempt has enqueued all of it.
            return Ok(Enqueued {
                what: self.read_all(&envelopes).await?,
                quota_exceeded: Vec::new(),
            });
        }
        let ManyJobs { jobs, quota_exceeded } = answer.read()?;
        Ok(Enqueued { what: jobs, quota_exceeded })
    }

    async fn read_all(&self, envelopes: &[Envelope]) -> Result<Vec<WithJson<Job>>, Error> {
        let mut jobs = Vec::with_capacity(envelopes.len());
        for envelope in envelopes {
            jobs.push(self.job(envelope.id()).await?);
        }
        Ok(jobs)
    }

    async fn enqueue_json(&self, path: &[&str], body: &impl Serialize) -> Result<Response, Error> {
        let (endpoint, longer) = (self.endpoint(path), Duration::ZERO);
        self.send_repeatable(Method::POST, endpoint, body, longer, Repeatable::Yes).await
    }
}

/// The job that the server has already, if its answer says that it has one with this id and the same content.
fn existing(answer: &Response, envelope: &Envelope) -> Option<WithJson<Job>> {
    if answer.status != 409 {
        return None;
    }
    let refused: RefusedJob = serde_json::from_slice(&answer.body).ok()?;
    refused.job.filter(|job| envelope.asks_for(job))
}
