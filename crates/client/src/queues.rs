use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::page::Pagination;
use crate::{Client, Error, Kept, Page, PageAt};

const PURGE_TIMEOUT: Duration = Duration::from_secs(600);

/// A queue, and how many of its jobs are in each state.
#[derive(Debug, Clone, Deserialize)]
pub struct Queue {
    pub name: String,
    /// `active` or `paused`.
    pub status: String,
    pub paused_at: Option<String>,
    pub created_at: Option<String>,
    #[serde(flatten)]
    pub counts: Counts,
}

/// A queue that was deleted.
#[derive(Debug, Clone, Deserialize)]
pub struct DeletedQueue {
    pub name: String,
    #[serde(default)]
    pub purged_jobs: u64,
}

/// A queue in the operator's list.
#[derive(Debug, Clone, Deserialize)]
pub struct OverseenQueue {
    pub name: String,
    /// Whose it is, where queues belong to one tenant.
    pub tenant_id: Option<String>,
    /// `active` or `paused`.
    pub status: String,
}

/// How many jobs are in each state.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Counts {
    pub pending: u64,
    pub scheduled: u64,
    pub available: u64,
    pub active: u64,
    pub retryable: u64,
    pub completed: u64,
    pub cancelled: u64,
    pub discarded: u64,
}

/// A queue, with what happened in it during the last hour.
#[derive(Debug, Clone, Deserialize)]
pub struct QueueStats {
    pub name: String,
    pub status: String,
    pub stats: Figures,
    pub computed_at: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Figures {
    #[serde(flatten)]
    pub counts: Counts,
    pub enqueued_last_hour: Option<u64>,
    pub completed_last_hour: Option<u64>,
    pub failed_last_hour: Option<u64>,
    pub avg_duration_ms: Option<f64>,
    pub avg_wait_ms: Option<f64>,
    pub throughput_per_second: Option<f64>,
}

#[derive(Deserialize)]
struct Listing {
    queues: Vec<Kept<Queue>>,
    pagination: Pagination,
}

#[derive(Deserialize)]
struct Overseen {
    items: Vec<Kept<OverseenQueue>>,
    #[serde(default)]
    pagination: Pagination,
}

#[derive(Deserialize)]
struct OneQueue {
    queue: Kept<Queue>,
}

impl Client {
    /// A page of the queues, by name.
    pub async fn queues(
        &self,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<Kept<Queue>>, Error> {
        let endpoint = self
            .at(&["queues"])
            .query("limit", Some(limit))
            .query("cursor", at.and_then(PageAt::cursor));
        let listing: Listing = self.get(endpoint).await?.read()?;
        Ok(listing.pagination.page(listing.queues))
    }

    /// A page of the queues of all tenants, also where each tenant has its own.
    pub async fn all_queues(
        &self,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<Kept<OverseenQueue>>, Error> {
        let endpoint = self
            .at(&["admin", "queues"])
            .query("per_page", Some(limit))
            .query("page", at.and_then(PageAt::number))
            .query("cursor", at.and_then(PageAt::cursor));
        let listing: Overseen = self.get(endpoint).await?.read()?;
        Ok(listing.pagination.page(listing.items))
    }

    pub async fn queue_stats(&self, name: &str) -> Result<Kept<QueueStats>, Error> {
        self.get(self.at(&["queues", name, "stats"])).await?.read()
    }

    /// Deletes a queue. One with jobs that have not ended is refused, unless these are to be deleted
    /// too.
    pub async fn delete_queue(&self, name: &str, purge: bool) -> Result<Kept<DeletedQueue>, Error> {
        let endpoint = self.at(&["admin", "queues", name]);
        if !purge {
            return self.delete(endpoint).await?.read();
        }
        let (endpoint, body) = (endpoint.query("purge", Some(true)), json!({"confirm": true}));
        self.send_json(Method::DELETE, endpoint, &body, PURGE_TIMEOUT).await?.read()
    }

    /// A paused queue accepts jobs and hands out none.
    pub async fn pause(&self, name: &str) -> Result<Kept<Queue>, Error> {
        let answer = self.tell(self.at(&["queues", name, "pause"])).await?;
        Ok(answer.read::<OneQueue>()?.queue)
    }

    pub async fn resume(&self, name: &str) -> Result<Kept<Queue>, Error> {
        let answer = self.tell(self.at(&["queues", name, "resume"])).await?;
        Ok(answer.read::<OneQueue>()?.queue)
    }
}
