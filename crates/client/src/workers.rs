//! Listing and controlling workers.

use std::fmt;

use serde::Deserialize;

use crate::page::Pagination;
use crate::{Client, Error, Page, PageAt, WithJson};

/// A worker, as the server knows it.
#[derive(Debug, Clone, Deserialize)]
pub struct Worker {
    /// The name that it registered or fetched with.
    pub id: String,
    /// Whom it serves, where workers serve one tenant.
    pub tenant_id: Option<String>,
    /// `running`, `quiet`, `terminate` or `stale`.
    pub state: String,
    /// What an operator told it to become.
    pub directive: Option<String>,
    /// Where it runs, as it says.
    pub hostname: Option<String>,
    /// Its process id, as it says.
    pub pid: Option<u64>,
    /// What it registered for.
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
    /// Only when one worker is looked at.
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

/// What an operator can tell a worker; it hears it with its next heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerChange {
    /// Finish what it has and fetch no more.
    Quiet,
    /// Finish what it has and exit.
    Terminate,
    /// Work as before.
    Resume,
}

/// A worker that was forgotten.
#[derive(Debug, Clone, Deserialize)]
pub struct RemovedWorker {
    /// The worker that is gone.
    pub id: String,
    /// Jobs that it held, which are available again.
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

    /// Tells a worker to stop fetching, to exit or to go on; it learns at its next heartbeat.
    pub async fn change_worker(
        &self,
        id: &str,
        change: WorkerChange,
    ) -> Result<WithJson<Worker>, Error> {
        let action = change.to_string();
        self.post_empty(self.endpoint(&["admin", "workers", id, &action])).await?.read()
    }

    /// Forgets a worker that was not heard of for long, and takes its jobs back.
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
