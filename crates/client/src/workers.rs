//! Listing and controlling workers.

use std::fmt;

use serde::Deserialize;

use crate::page::Pagination;
use crate::{Client, Error, Page, PageAt, WithJson};

/// A worker as the server reports it.
#[derive(Debug, Clone, Deserialize)]
pub struct Worker {
    /// The name that it registered or fetched with.
    pub id: String,
    /// The worker's tenant, if workers belong to tenants.
    pub tenant_id: Option<String>,
    /// `running`, `quiet`, `terminate` or `stale`.
    pub state: String,
    /// The state that an operator has requested.
    pub directive: Option<String>,
    /// Where it runs, as it says.
    pub hostname: Option<String>,
    /// Its process id, as it says.
    pub pid: Option<u64>,
    /// The queues it has registered for.
    #[serde(default)]
    pub queues: Vec<String>,
    /// The most jobs that it is given at once; `None` is no bound.
    pub concurrency: Option<u64>,
    /// Labels for operators.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Jobs that it holds.
    #[serde(default)]
    pub active_jobs: u64,
    /// Only present when a single worker is read.
    #[serde(default)]
    pub active_job_ids: Vec<String>,
    /// The version of the worker program.
    pub version: Option<String>,
    /// When its process started, as it says.
    pub started_at: Option<String>,
    /// When the server first heard of it.
    pub registered_at: Option<String>,
    /// When it last sent any request.
    pub last_seen_at: Option<String>,
    /// When it last sent a heartbeat.
    pub last_heartbeat_at: Option<String>,
}

/// A state that an operator can request. The worker learns of it with its next heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerChange {
    /// Finish the current jobs, but fetch no more.
    Quiet,
    /// Finish the current jobs, then exit.
    Terminate,
    /// Continue normally.
    Resume,
}

/// A removed worker.
#[derive(Debug, Clone, Deserialize)]
pub struct RemovedWorker {
    /// The worker's id.
    pub id: String,
    /// The jobs it was running, which are available again.
    #[serde(default)]
    pub jobs_requeued: u64,
}

#[derive(Deserialize)]
struct Listing {
    items: Vec<WithJson<Worker>>,
    pagination: Pagination,
}

impl Client {
    /// One page of the workers, by name.
    pub async fn workers(
        &self,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<Worker>>, Error> {
        let endpoint = self
            .endpoint(&["admin", "workers"])
            .query("per_page", Some(limit))
            .query("page", at.and_then(PageAt::number))
            .query("cursor", at.and_then(PageAt::cursor));
        let listing: Listing = self.get(endpoint).await?.read()?;
        Ok(listing.pagination.page(listing.items))
    }

    /// One worker.
    pub async fn worker(&self, id: &str) -> Result<WithJson<Worker>, Error> {
        self.get(self.endpoint(&["admin", "workers", id])).await?.read()
    }

    /// Requests that a worker stops fetching, exits or continues.
    pub async fn change_worker(
        &self,
        id: &str,
        change: WorkerChange,
    ) -> Result<WithJson<Worker>, Error> {
        let action = change.to_string();
        self.post_empty(self.endpoint(&["admin", "workers", id, &action])).await?.read()
    }

    /// Removes a dead worker and requeues its jobs.
    pub async fn remove_worker(&self, id: &str) -> Result<WithJson<RemovedWorker>, Error> {
        self.delete(self.endpoint(&["admin", "workers", id])).await?.read()
    }
}

impl fmt::Display for WorkerChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Quiet => "quiet",
            Self::Terminate => "terminate",
            Self::Resume => "resume",
        })
    }
}
