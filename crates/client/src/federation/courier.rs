//! How a job is sent to the region that was chosen for it.

use super::parcel::Parcel;
use crate::envelope::has_content;
use crate::forward::{Forward, Forwarded};
use crate::{Client, Error, Job, WithJson};
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Method};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::time::Duration;

/// Why a region did not take a job.
pub(super) struct Failed {
    pub error: Error,
    /// The answer as it came, if there was one.
    pub answer: Option<Forwarded>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { error, answer: None }
    }
}

/// Sends jobs, for this program or for somebody else.
pub(super) trait Courier: Sync {
    /// What a region answers to a job that it takes.
    type Taken: Send;

    /// Sends the parcel. `again` if it was sent to the same region before and nothing was heard of it: that the region
    /// has it already is then a success.
    fn send(
        &self,
        client: &Client,
        parcel: &Parcel<'_>,
        body: Bytes,
        again: bool,
    ) -> impl Future<Output = Result<Self::Taken, Failed>> + Send;

    /// Looks whether the region has the parcel that was sent as `body`. Another job with the same id is another job.
    fn look(
        &self,
        client: &Client,
        parcel: &Parcel<'_>,
        body: &Bytes,
    ) -> impl Future<Output = Result<Option<Self::Taken>, Error>> + Send;
}

/// Jobs of this program.
pub(super) struct Own<'a> {
    pub tenant: Option<&'a str>,
}

/// A job that a region has taken.
pub(super) struct Taken {
    pub job: WithJson<Job>,
    pub quota_exceeded: Vec<String>,
}

impl Own<'_> {
    fn on_behalf(&self, client: &Client) -> Client {
        match self.tenant {
            // The id was checked when it was given.
            Some(id) => client.clone().with_tenant(id).unwrap_or_else(|_| client.clone()),
            None => client.clone(),
        }
    }
}

impl Courier for Own<'_> {
    type Taken = Taken;

    async fn send(
        &self,
        client: &Client,
        _parcel: &Parcel<'_>,
        body: Bytes,
        _again: bool,
    ) -> Result<Taken, Failed> {
        let text = String::from_utf8(body.into())
            .map_err(|cause| Error::BadJob { reason: cause.to_string() })?;
        let envelope = serde_json::value::RawValue::from_string(text)
            .map_err(|cause| Error::BadJob { reason: cause.to_string() })?;
        let enqueued = self.on_behalf(client).enqueue_with_warnings(&envelope).await?;
        Ok(Taken { job: enqueued.what, quota_exceeded: enqueued.quota_exceeded })
    }

    async fn look(
        &self,
        client: &Client,
        parcel: &Parcel<'_>,
        body: &Bytes,
    ) -> Result<Option<Taken>, Error> {
        let job = match self.on_behalf(client).job(&parcel.id).await {
            Ok(job) => job,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        let same = has_content(job.json().as_bytes(), body);
        Ok(same.then_some(Taken { job, quota_exceeded: Vec::new() }))
    }
}

/// Jobs of somebody else, whose headers are passed on.
pub(super) struct Passing<'a> {
    pub headers: &'a HeaderMap,
}

impl Passing<'_> {
    fn request(&self, method: Method, path: String, body: Bytes) -> Forward {
        Forward { method, path, headers: self.headers.clone(), body, longer: Duration::ZERO }
    }

    /// The answer about a job, and the job; `None` if the region does not have it.
    async fn job(
        &self,
        client: &Client,
        id: &str,
    ) -> Result<Option<(Forwarded, Box<RawValue>)>, Error> {
        #[derive(Deserialize)]
        struct One {
            job: Box<RawValue>,
        }
        let request = self.request(Method::GET, format!("/ojs/v1/jobs/{id}"), Bytes::new());
        let answer = client.forward(request).await?;
        match (answer.status, serde_json::from_slice::<One>(&answer.body)) {
            (404, _) => Ok(None),
            (200..=299, Ok(One { job })) => Ok(Some((answer, job))),
            _ => Err(answer.error(client.url())),
        }
    }

    /// The answer that the first request would have got, had it not been lost.
    async fn as_created(
        &self,
        client: &Client,
        parcel: &Parcel<'_>,
        body: &Bytes,
    ) -> Result<Option<Forwarded>, Error> {
        let Some((mut answer, job)) = self.job(client, &parcel.id).await? else { return Ok(None) };
        answer.status = 201;
        answer.headers.remove(CONTENT_LENGTH);
        let Some(ids) = &parcel.batch else {
            return Ok(has_content(job.get().as_bytes(), body).then_some(answer));
        };
        let sent: SentBatch<'_> = serde_json::from_slice(body).expect("it was written here");
        let mut jobs = Vec::with_capacity(ids.len());
        for (id, sent) in ids.iter().zip(sent.jobs) {
            // A batch is taken as a whole, so one job that is missing or another one answers for all.
            match self.job(client, id).await? {
                Some((_, job)) if has_content(job.get().as_bytes(), sent.get().as_bytes()) => {
                    jobs.push(job);
                }
                _ => return Ok(None),
            }
        }
        let body = json!({"count": jobs.len(), "jobs": jobs});
        answer.body = serde_json::to_vec(&body).expect("jobs are JSON").into();
        Ok(Some(answer))
    }
}

/// A batch as it was sent.
#[derive(Deserialize)]
struct SentBatch<'a> {
    #[serde(borrow)]
    jobs: Vec<&'a RawValue>,
}

impl Courier for Passing<'_> {
    type Taken = Forwarded;

    async fn send(
        &self,
        client: &Client,
        parcel: &Parcel<'_>,
        body: Bytes,
        again: bool,
    ) -> Result<Forwarded, Failed> {
        let request = self.request(Method::POST, parcel.path().to_owned(), body.clone());
        let answer = client.forward(request).await?;
        if answer.is_success() {
            return Ok(answer);
        }
        if again
            && answer.status == 409
            && let Ok(Some(created)) = self.as_created(client, parcel, &body).await
        {
            return Ok(created);
        }
        Err(Failed { error: answer.error(client.url()), answer: Some(answer) })
    }

    async fn look(
        &self,
        client: &Client,
        parcel: &Parcel<'_>,
        body: &Bytes,
    ) -> Result<Option<Forwarded>, Error> {
        self.as_created(client, parcel, body).await
    }
}
