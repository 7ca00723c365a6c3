//! The dead letter: jobs that failed permanently.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::job::OneJob;
use crate::{Client, Error, Job, JobFilter, Page, PageAt, WithJson};

const PURGE_TIMEOUT: Duration = Duration::from_secs(600);

/// How many jobs failed for good.
#[derive(Debug, Clone, Deserialize)]
pub struct DeadLetterStats {
    /// Jobs in the dead letter.
    pub total: u64,
    /// How many of them each queue has.
    #[serde(default)]
    pub by_queue: BTreeMap<String, u64>,
}

/// A job that is gone.
#[derive(Debug, Clone, Deserialize)]
pub struct DeletedJob {
    /// The job that is gone.
    pub id: String,
}

/// How many jobs were deleted.
#[derive(Debug, Clone, Deserialize)]
pub struct Purged {
    /// Jobs that were removed.
    pub purged_count: u64,
    /// Jobs that could not be removed; repeating the request tries them again.
    #[serde(default)]
    pub failed: u64,
}

impl Client {
    /// A page of the jobs that failed for good. The filter's state does not count.
    pub async fn dead_letters(
        &self,
        filter: &JobFilter,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<Job>>, Error> {
        let filter = JobFilter { state: None, ..filter.clone() };
        self.listed(&["dead-letter"], &filter, limit, at).await
    }

    /// One job, if it is in the dead letter.
    pub async fn dead_letter(&self, id: &str) -> Result<WithJson<Job>, Error> {
        Ok(self.get(self.endpoint(&["dead-letter", id])).await?.read::<OneJob>()?.job)
    }

    /// How many there are of all tenants, also where queues belong to one tenant; none if the server
    /// does not know.
    pub async fn all_dead_letters(&self) -> Result<Option<u64>, Error> {
        let path = ["admin", "dead-letter"];
        Ok(self.listed(&path, &JobFilter::default(), 1, None).await?.total)
    }

    /// How many jobs are in the dead letter, in all and by queue.
    pub async fn dead_letter_stats(&self) -> Result<WithJson<DeadLetterStats>, Error> {
        self.get(self.endpoint(&["dead-letter", "stats"])).await?.read()
    }

    /// Makes the job available again, with no attempts used.
    pub async fn retry_dead_letter(&self, id: &str) -> Result<WithJson<Job>, Error> {
        Ok(self
            .post_empty(self.endpoint(&["dead-letter", id, "retry"]))
            .await?
            .read::<OneJob>()?
            .job)
    }

    /// Removes the job for good.
    pub async fn delete_dead_letter(&self, id: &str) -> Result<WithJson<DeletedJob>, Error> {
        self.delete(self.endpoint(&["dead-letter", id])).await?.read()
    }

    /// Deletes all, or those of a queue, or those that ended before a time (RFC 3339).
    pub async fn purge_dead_letters(
        &self,
        queue: Option<&str>,
        older_than: Option<&str>,
    ) -> Result<WithJson<Purged>, Error> {
        let body = json!({"queue": queue, "older_than": older_than, "confirm": true});
        let endpoint = self.endpoint(&["admin", "dead-letter"]);
        self.send_json(Method::DELETE, endpoint, &body, PURGE_TIMEOUT).await?.read()
    }
}
