//! How a job is sent to the region that was chosen for it.

use super::parcel::Parcel;
use crate::forward::{Forward, Forwarded};
use crate::{Client, Error, Job, WithJson};
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Method};
use serde::Deserialize;
use serde_json::json;
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

    /// Looks whether the region has the parcel.
    fn look(
        &self,
        client: &Client,
        parcel: &Parcel<'_>,
    ) -> impl Future<Output = Result<Self::Taken, Error>> + Send;
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

    async fn look(&self, client: &Client, parcel: &Parcel<'_>) -> Result<Taken, Error> {
        let job = self.on_behalf(client).job(&parcel.id).await?;
        Ok(Taken { job, quota_exceeded: Vec::new() })
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

    async fn job(&self, client: &Client, id: &str) -> Result<Forwarded, Error> {
        let request = self.request(Method::GET, format!("/ojs/v1/jobs/{id}"), Bytes::new());
        let answer = client.forward(request).await?;
        match answer.is_success() {
            true => Ok(answer),
            false => Err(answer.error(client.url())),
        }
    }

    /// The answer that the first request would have got, had it not been lost.
    async fn as_created(&self, client: &Client, parcel: &Parcel<'_>) -> Result<Forwarded, Error> {
        let mut answer = self.job(client, &parcel.id).await?;
        answer.status = 201;
        answer.headers.remove(CONTENT_LENGTH);
        let Some(ids) = &parcel.batch else { return Ok(answer) };
        let mut jobs = Vec::with_capacity(ids.len());
        for id in ids {
            #[derive(Deserialize)]
            struct One {
                job: Box<serde_json::value::RawValue>,
            }
            let answer = self.job(client, id).await?;
            let one: One =
                serde_json::from_slice(&answer.body).map_err(|_| answer.error(client.url()))?;
            jobs.push(one.job);
        }
        let body = json!({"count": jobs.len(), "jobs": jobs});
        answer.body = serde_json::to_vec(&body).expect("jobs are JSON").into();
        Ok(answer)
    }
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
        let request = self.request(Method::POST, parcel.path().to_owned(), body);
        let answer = client.forward(request).await?;
        if answer.is_success() {
            return Ok(answer);
        }
        if again
            && answer.status == 409
            && let Ok(created) = self.as_created(client, parcel).await
        {
            return Ok(created);
        }
        Err(Failed { error: answer.error(client.url()), answer: Some(answer) })
    }

    async fn look(&self, client: &Client, parcel: &Parcel<'_>) -> Result<Forwarded, Error> {
        self.as_created(client, parcel).await
    }
}
