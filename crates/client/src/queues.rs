//! Queues and their statistics.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use crate::page::Pagination;
use crate::{Client, Error, Page, PageAt, Purged, WithJson};

const PURGE_TIMEOUT: Duration = Duration::from_secs(600);

/// A queue with its number of jobs by state.
#[derive(Debug, Clone, Deserialize)]
pub struct Queue {
    /// The queue's name.
    pub name: String,
    /// `active` or `paused`.
    pub status: String,
    /// When it was paused, if it is.
    pub paused_at: Option<String>,
    /// When the queue was created, by its first job or its configuration.
    pub created_at: Option<String>,
    /// Its jobs in each state.
    #[serde(flatten)]
    pub counts: Counts,
}

/// A deleted queue.
#[derive(Debug, Clone, Deserialize)]
pub struct DeletedQueue {
    /// The queue's name.
    pub name: String,
    /// Jobs that were deleted or cancelled with it.
    #[serde(default)]
    pub purged_jobs: u64,
}

/// A queue in the operator's list.
#[derive(Debug, Clone, Deserialize)]
pub struct OverseenQueue {
    /// The queue's name.
    pub name: String,
    /// The queue's tenant, if tenants have their own queues.
    pub tenant_id: Option<String>,
    /// `active` or `paused`.
    pub status: String,
}

/// Number of jobs by state.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Waiting for activation.
    pub pending: u64,
    /// Waiting for their start time.
    pub scheduled: u64,
    /// Ready to be fetched.
    pub available: u64,
    /// Being run by a worker.
    pub active: u64,
    /// Failed and waiting for the next attempt.
    pub retryable: u64,
    /// Succeeded, and not yet deleted by retention.
    pub completed: u64,
    /// Cancelled, and not yet deleted by retention.
    pub cancelled: u64,
    /// Failed permanently, dropped or expired, and not yet deleted by retention.
    pub discarded: u64,
}

/// A queue with statistics of the last hour.
#[derive(Debug, Clone, Deserialize)]
pub struct QueueStats {
    /// The queue.
    pub name: String,
    /// `active` or `paused`.
    pub status: String,
    /// The figures themselves.
    pub stats: Figures,
    /// When the server computed them.
    pub computed_at: Option<String>,
}

/// Statistics of a queue. Averages over no jobs are `None`.
#[derive(Debug, Clone, Deserialize)]
pub struct Figures {
    /// Jobs in each state, now.
    #[serde(flatten)]
    pub counts: Counts,
    /// Jobs accepted within the last hour.
    pub enqueued_last_hour: Option<u64>,
    /// Executions that were acknowledged within the last hour.
    pub completed_last_hour: Option<u64>,
    /// Executions that failed within the last hour.
    pub failed_last_hour: Option<u64>,
    /// How long an execution took, in milliseconds, over the last hour.
    pub avg_duration_ms: Option<f64>,
    /// How long a job waited before it started, in milliseconds, over the last hour.
    pub avg_wait_ms: Option<f64>,
    /// Executions that ended, per second, over the last hour.
    pub throughput_per_second: Option<f64>,
}

#[derive(Deserialize)]
struct Listing {
    queues: Vec<WithJson<Queue>>,
    pagination: Pagination,
}

#[derive(Deserialize)]
struct Overseen {
    items: Vec<WithJson<OverseenQueue>>,
    #[serde(default)]
    pagination: Pagination,
}

#[derive(Deserialize)]
struct OneQueue {
    queue: WithJson<Queue>,
}

impl Client {
    /// A page of the queues, by name.
    pub async fn queues(
        &self,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<Queue>>, Error> {
        let endpoint = self
            .endpoint(&["queues"])
            .query("limit", Some(limit))
            .query("cursor", at.and_then(PageAt::cursor));
        let listing: Listing = self.get(endpoint).await?.read()?;
        Ok(listing.pagination.page(listing.queues))
    }

    /// Reads one page of the queues of all tenants.
    pub async fn all_queues(
        &self,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<OverseenQueue>>, Error> {
        let endpoint = self
            .endpoint(&["admin", "queues"])
            .query("per_page", Some(limit))
            .query("page", at.and_then(PageAt::number))
            .query("cursor", at.and_then(PageAt::cursor));
        let listing: Overseen = self.get(endpoint).await?.read()?;
        Ok(listing.pagination.page(listing.items))
    }

    /// The figures of one queue.
    pub async fn queue_stats(&self, name: &str) -> Result<WithJson<QueueStats>, Error> {
        self.get(self.endpoint(&["queues", name, "stats"])).await?.read()
    }

    /// Deletes a queue. A queue with unfinished jobs is not deleted, unless these are to be deleted too.
    pub async fn delete_queue(
        &self,
        name: &str,
        purge: bool,
    ) -> Result<WithJson<DeletedQueue>, Error> {
        let endpoint = self.endpoint(&["admin", "queues", name]);
        if !purge {
            return self.delete(endpoint).await?.read();
        }
        let (endpoint, body) = (endpoint.query("purge", Some(true)), json!({"confirm": true}));
        self.send_json(Method::DELETE, endpoint, &body, PURGE_TIMEOUT).await?.read()
    }

    /// Creates an empty queue, which stays while it is idle.
    pub async fn create_queue(&self, name: &str) -> Result<WithJson<IgnoredAny>, Error> {
        self.post(self.endpoint(&["queues"]), &json!({"name": name})).await?.read()
    }

    /// Deletes the jobs of a queue that are in one of these states, and optionally only those created
    /// before a time (RFC 3339).
    pub async fn purge_queue(
        &self,
        name: &str,
        states: &[String],
        older_than: Option<&str>,
    ) -> Result<WithJson<Purged>, Error> {
        let mut body = json!({"states": states, "confirm": true});
        if let Some(time) = older_than {
            body["older_than"] = json!(time);
        }
        let endpoint = self.endpoint(&["admin", "queues", name, "jobs"]);
        self.send_json(Method::DELETE, endpoint, &body, PURGE_TIMEOUT).await?.read()
    }

    /// Pauses a queue: it accepts jobs but dispatches none.
    pub async fn pause(&self, name: &str) -> Result<WithJson<Queue>, Error> {
        let answer = self.post_empty(self.endpoint(&["queues", name, "pause"])).await?;
        Ok(answer.read::<OneQueue>()?.queue)
    }

    /// Resumes a paused queue.
    pub async fn resume(&self, name: &str) -> Result<WithJson<Queue>, Error> {
        let answer = self.post_empty(self.endpoint(&["queues", name, "resume"])).await?;
        Ok(answer.read::<OneQueue>()?.queue)
    }
}
