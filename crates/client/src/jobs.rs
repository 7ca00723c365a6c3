//! Reading, listing and changing jobs.

use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::base_url::Endpoint;
use crate::job::OneJob;
use crate::page::Pagination;
use crate::{Client, Error, Job, Page, PageAt, WithJson};

/// Additional timeout for bulk operations, which may change many jobs.
const BULK_TIMEOUT: Duration = Duration::from_secs(600);

/// Selects jobs. Fields that are `None` match all jobs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct JobFilter {
    /// Only jobs of this queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Only jobs in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// An exact job type, or a prefix followed by `*`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Only jobs created at or after this time, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only jobs created before this time, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Whether to list the oldest jobs first instead of the newest.
    #[serde(skip)]
    pub oldest_first: bool,
}

/// How an active job is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelMode {
    /// At once. Its worker learns of it at its next heartbeat.
    Immediate,
    /// The worker is asked to end the job itself.
    Cooperative,
}

impl CancelMode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::Cooperative => "cooperative",
        }
    }
}

/// The result of a bulk operation.
#[derive(Debug, Clone, Deserialize)]
pub struct BulkOutcome {
    /// Jobs that the filter matched.
    pub matched: u64,
    /// Jobs that were changed.
    pub succeeded: u64,
    /// Jobs that were not changed, usually because their state had changed meanwhile.
    pub failed: u64,
}

#[derive(Serialize)]
struct Bulk<'a> {
    filter: &'a JobFilter,
    confirm: bool,
}

#[derive(Deserialize)]
struct Listing {
    // The same list under either name, or under both.
    items: Option<Vec<WithJson<Job>>>,
    jobs: Option<Vec<WithJson<Job>>>,
    pagination: Pagination,
}

impl Client {
    /// One job, finished or not.
    pub async fn job(&self, id: &str) -> Result<WithJson<Job>, Error> {
        let answer = self.get(self.endpoint(&["jobs", id])).await?;
        Ok(answer.read::<OneJob>()?.job)
    }

    /// Cancels an unfinished job. An active one is cancelled as the server is configured.
    pub async fn cancel(&self, id: &str) -> Result<WithJson<Job>, Error> {
        self.cancel_as(id, None).await
    }

    /// Cancels an unfinished job; an active one as `mode` says, if it is given.
    pub async fn cancel_as(
        &self,
        id: &str,
        mode: Option<CancelMode>,
    ) -> Result<WithJson<Job>, Error> {
        let endpoint = self.endpoint(&["jobs", id]).query("mode", mode.map(CancelMode::as_str));
        Ok(self.delete(endpoint).await?.read::<OneJob>()?.job)
    }

    /// Gives a waiting job another priority, from -100 to 100; higher goes first.
    pub async fn set_priority(&self, id: &str, priority: i64) -> Result<WithJson<Job>, Error> {
        let (endpoint, body) = (self.endpoint(&["jobs", id]), json!({"priority": priority}));
        let answer = self.send_json(Method::PATCH, endpoint, &body, Duration::ZERO).await?;
        Ok(answer.read::<OneJob>()?.job)
    }

    /// Makes a pending job available.
    pub async fn activate(&self, id: &str) -> Result<WithJson<Job>, Error> {
        let answer = self.post_empty(self.endpoint(&["jobs", id, "activate"])).await?;
        Ok(answer.read::<OneJob>()?.job)
    }

    /// Makes a discarded or cancelled job available again.
    pub async fn retry(&self, id: &str) -> Result<WithJson<Job>, Error> {
        let answer = self.post_empty(self.endpoint(&["admin", "jobs", id, "retry"])).await?;
        Ok(answer.read::<OneJob>()?.job)
    }

    /// Reads one page of the matching jobs. A short or even empty page may have a next one.
    pub async fn jobs(
        &self,
        filter: &JobFilter,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<Job>>, Error> {
        self.listed(self.endpoint(&["admin", "jobs"]), filter, limit, at).await
    }

    pub(crate) async fn listed(
        &self,
        endpoint: Endpoint,
        filter: &JobFilter,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<Job>>, Error> {
        let endpoint = endpoint
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
        Ok(listing.pagination.page(listing.items.or(listing.jobs).unwrap_or_default()))
    }

    /// Retries all matching jobs that are discarded, or cancelled if the filter selects that state.
    pub async fn retry_all(&self, filter: &JobFilter) -> Result<WithJson<BulkOutcome>, Error> {
        self.bulk("retry", filter).await
    }

    /// Cancels all matching unfinished jobs.
    pub async fn cancel_all(&self, filter: &JobFilter) -> Result<WithJson<BulkOutcome>, Error> {
        self.bulk("cancel", filter).await
    }

    /// Deletes all matching finished jobs.
    pub async fn delete_all(&self, filter: &JobFilter) -> Result<WithJson<BulkOutcome>, Error> {
        self.bulk("delete", filter).await
    }

    async fn bulk(&self, action: &str, filter: &JobFilter) -> Result<WithJson<BulkOutcome>, Error> {
        let endpoint = self.endpoint(&["admin", "jobs", "bulk", action]);
        let body = Bulk { filter, confirm: true };
        self.send_json(Method::POST, endpoint, &body, BULK_TIMEOUT).await?.read()
    }
}
