use std::fmt;

use serde::Deserialize;

use crate::page::Pagination;
use crate::{Client, Error, Kept, Page, PageAt};

/// A worker, as the server knows it.
#[derive(Debug, Clone, Deserialize)]
pub struct Worker {
    pub id: String,
    /// Whom it serves, where workers serve one tenant.
    pub tenant_id: Option<String>,
    /// `running`, `quiet`, `terminate` or `stale`.
    pub state: String,
    /// What an operator told it to become.
    pub directive: Option<String>,
    pub hostname: Option<String>,
    pub pid: Option<u64>,
    #[serde(default)]
    pub queues: Vec<String>,
    pub concurrency: Option<u64>,
    #[serde(default)]
    pub labels: Vec<String>,
    #[serde(default)]
    pub active_jobs: u64,
    /// Only when one worker is looked at.
    #[serde(default)]
    pub active_job_ids: Vec<String>,
    pub version: Option<String>,
    pub started_at: Option<String>,
    pub registered_at: Option<String>,
    pub last_seen_at: Option<String>,
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
    pub id: String,
    #[serde(default)]
    pub jobs_requeued: u64,
}

#[derive(Deserialize)]
struct Listing {
    items: Vec<Kept<Worker>>,
    pagination: Pagination,
}

impl Client {
    pub async fn workers(
        &self,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<Kept<Worker>>, Error> {
        let endpoint = self
            .at(&["admin", "workers"])
            .query("per_page", Some(limit))
            .query("page", at.and_then(PageAt::number))
            .query("cursor", at.and_then(PageAt::cursor));
        let listing: Listing = self.get(endpoint).await?.read()?;
        Ok(listing.pagination.page(listing.items))
    }

    pub async fn worker(&self, id: &str) -> Result<Kept<Worker>, Error> {
        self.get(self.at(&["admin", "workers", id])).await?.read()
    }

    pub async fn change_worker(
        &self,
        id: &str,
        change: WorkerChange,
    ) -> Result<Kept<Worker>, Error> {
        let action = change.to_string();
        self.tell(self.at(&["admin", "workers", id, &action])).await?.read()
    }

    /// Forgets a worker that was not heard of for long, and takes its jobs back.
    pub async fn remove_worker(&self, id: &str) -> Result<Kept<RemovedWorker>, Error> {
        self.delete(self.at(&["admin", "workers", id])).await?.read()
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
