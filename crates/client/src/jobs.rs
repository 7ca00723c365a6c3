//! Enqueueing, reading, listing and changing jobs.

use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};

use crate::job::{ManyJobs, OneJob};
use crate::page::Pagination;
use crate::{Client, Error, Job, Page, PageAt, WithJson};

/// Changing many jobs takes its time.
const BULK_TIMEOUT: Duration = Duration::from_secs(600);

/// Which jobs are meant; what is `None` does not matter.
#[derive(Debug, Clone, Default, Serialize)]
pub struct JobFilter {
    /// Only jobs of this queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Only jobs in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Exact, or a prefix with `*` at its end.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Created at or after; RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Created before; RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Oldest first, instead of newest.
    #[serde(skip)]
    pub oldest_first: bool,
}

/// What became of a change of many jobs.
#[derive(Debug, Clone, Deserialize)]
pub struct BulkOutcome {
    /// Jobs that the filter matched.
    pub matched: u64,
    /// Jobs that were changed.
    pub succeeded: u64,
    /// Jobs that were not, usually because their state changed meanwhile.
    pub failed: u64,
}

/// What was enqueued, and what there is to say about it.
#[derive(Debug, Clone)]
pub struct Enqueued<T> {
    /// What was enqueued: one job, or several.
    pub what: T,
    /// Limits of the tenant that it went over, where they only warn.
    pub quota_exceeded: Vec<String>,
}

#[derive(Serialize)]
struct Batch<'a, T> {
    jobs: &'a [T],
}

#[derive(Serialize)]
struct Bulk<'a> {
    filter: &'a JobFilter,
    confirm: bool,
}

#[derive(Deserialize)]
struct Listing {
    #[serde(alias = "jobs")]
    items: Vec<WithJson<Job>>,
    pagination: Pagination,
}

impl Client {
    /// Enqueues one job: a [`NewJob`](crate::NewJob), or any JSON object that is an envelope.
    pub async fn enqueue(&self, job: &impl Serialize) -> Result<WithJson<Job>, Error> {
        Ok(self.enqueue_told(job).await?.what)
    }

    /// The same, with what there is to say about it.
    pub async fn enqueue_told(
        &self,
        job: &impl Serialize,
    ) -> Result<Enqueued<WithJson<Job>>, Error> {
        let answer = self.post(self.endpoint(&["jobs"]), job).await?;
        let OneJob { job, quota_exceeded } = answer.read()?;
        Ok(Enqueued { what: job, quota_exceeded })
    }

    /// Enqueues all of them or none.
    pub async fn enqueue_batch(
        &self,
        jobs: &[impl Serialize],
    ) -> Result<Vec<WithJson<Job>>, Error> {
        Ok(self.enqueue_batch_told(jobs).await?.what)
    }

    /// The same, with what there is to say about it.
    pub async fn enqueue_batch_told(
        &self,
        jobs: &[impl Serialize],
    ) -> Result<Enqueued<Vec<WithJson<Job>>>, Error> {
        let answer = self.post(self.endpoint(&["jobs", "batch"]), &Batch { jobs }).await?;
        let ManyJobs { jobs, quota_exceeded } = answer.read()?;
        Ok(Enqueued { what: jobs, quota_exceeded })
    }

    /// One job, finished or not.
    pub async fn job(&self, id: &str) -> Result<WithJson<Job>, Error> {
        let answer = self.get(self.endpoint(&["jobs", id])).await?;
        Ok(answer.read::<OneJob>()?.job)
    }

    /// Cancels a job in any state that has not ended.
    pub async fn cancel(&self, id: &str) -> Result<WithJson<Job>, Error> {
        let answer = self.delete(self.endpoint(&["jobs", id])).await?;
        Ok(answer.read::<OneJob>()?.job)
    }

    /// Makes a pending job available.
    pub async fn activate(&self, id: &str) -> Result<WithJson<Job>, Error> {
        let answer = self.post_empty(self.endpoint(&["jobs", id, "activate"])).await?;
        Ok(answer.read::<OneJob>()?.job)
    }

    /// Starts a discarded or cancelled job anew.
    pub async fn retry(&self, id: &str) -> Result<WithJson<Job>, Error> {
        let answer = self.post_empty(self.endpoint(&["admin", "jobs", id, "retry"])).await?;
        Ok(answer.read::<OneJob>()?.job)
    }

    /// A page of the jobs that match. A page may be short, even empty, and still have a next one.
    pub async fn jobs(
        &self,
        filter: &JobFilter,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<Job>>, Error> {
        self.listed(&["admin", "jobs"], filter, limit, at).await
    }

    pub(crate) async fn listed(
        &self,
        path: &[&str],
        filter: &JobFilter,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<Job>>, Error> {
        let endpoint = self
            .endpoint(path)
            .query("queue", filter.queue.as_ref())
            .query("state", filter.state.as_ref())
            .query("type", filter.kind.as_ref())
            .query("since", filter.since.as_ref())
            .query("until", filter.until.as_ref())
            .query("order", filter.oldest_first.then_some("asc"))
            .query("limit", Some(limit))
            .query("cursor", at.and_then(PageAt::cursor))
            .query("page", at.and_then(PageAt::number));
        let listing: Listing = self.get(endpoint).await?.read()?;
        Ok(listing.pagination.page(listing.items))
    }

    /// Starts all matching jobs anew: the discarded ones, or the cancelled if the filter says so.
    pub async fn retry_all(&self, filter: &JobFilter) -> Result<WithJson<BulkOutcome>, Error> {
        self.bulk("retry", filter).await
    }

    /// Cancels all jobs that match and have not ended.
    pub async fn cancel_all(&self, filter: &JobFilter) -> Result<WithJson<BulkOutcome>, Error> {
        self.bulk("cancel", filter).await
    }

    /// Deletes all matching jobs that have ended.
    pub async fn delete_all(&self, filter: &JobFilter) -> Result<WithJson<BulkOutcome>, Error> {
        self.bulk("delete", filter).await
    }

    async fn bulk(&self, action: &str, filter: &JobFilter) -> Result<WithJson<BulkOutcome>, Error> {
        let endpoint = self.endpoint(&["admin", "jobs", "bulk", action]);
        let body = Bulk { filter, confirm: true };
        self.send_json(Method::POST, endpoint, &body, BULK_TIMEOUT).await?.read()
    }
}
