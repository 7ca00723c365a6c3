//! The dead letter: jobs that failed permanently.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::job::OneJob;
use crate::{BulkOutcome, Client, Error, Job, JobFilter, Page, PageAt, WithJson};

const PURGE_TIMEOUT: Duration = Duration::from_secs(600);

/// Number of jobs in the dead letter.
#[derive(Debug, Clone, Deserialize)]
pub struct DeadLetterStats {
    /// Jobs in the dead letter.
    pub total: u64,
    /// Jobs by queue.
    #[serde(default)]
    pub by_queue: BTreeMap<String, u64>,
    /// Jobs by the type of their last error.
    #[serde(default)]
    pub by_error_type: BTreeMap<String, u64>,
}

/// A deleted job.
#[derive(Debug, Clone, Deserialize)]
pub struct DeletedJob {
    /// The job's id.
    pub id: String,
}

/// The result of a purge.
#[derive(Debug, Clone, Deserialize)]
pub struct Purged {
    /// Number of jobs deleted.
    pub purged_count: u64,
    /// Number of jobs that could not be deleted; repeating the request retries them.
    #[serde(default)]
    pub failed: u64,
}

/// Selects jobs in the dead letter. Fields that are `None` match all.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DeadLetterFilter {
    /// Only jobs of this queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// An exact job type, or a prefix followed by `*`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Only jobs whose last error has this type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// Only jobs discarded at or after this time, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only jobs discarded before this time, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl Client {
    /// Retries all matching jobs.
    pub async fn retry_dead_letters(
        &self,
        filter: &DeadLetterFilter,
    ) -> Result<WithJson<BulkOutcome>, Error> {
        let body = json!({"filter": filter, "confirm": true});
        let endpoint = self.endpoint(&["dead-letter", "retry"]);
        self.send_json(Method::POST, endpoint, &body, PURGE_TIMEOUT).await?.read()
    }

    /// Reads one page of the dead letter: all jobs, or those whose last error has this type. The
    /// filter's state is ignored.
    pub async fn dead_letters(
        &self,
        filter: &JobFilter,
        error_type: Option<&str>,
        limit: u32,
        at: Option<&PageAt>,
    ) -> Result<Page<WithJson<Job>>, Error> {
        let filter = JobFilter { state: None, ..filter.clone() };
        let endpoint = self.endpoint(&["dead-letter"]).query("error_type", error_type);
        self.listed(endpoint, &filter, limit, at).await
    }

    /// One job, if it is in the dead letter.
    pub async fn dead_letter(&self, id: &str) -> Result<WithJson<Job>, Error> {
        Ok(self.get(self.endpoint(&["dead-letter", id])).await?.read::<OneJob>()?.job)
    }

    /// Number of jobs in the dead letter over all tenants; `None` if the server does not report it.
    pub async fn all_dead_letters(&self) -> Result<Option<u64>, Error> {
        let endpoint = self.endpoint(&["admin", "dead-letter"]);
        Ok(self.listed(endpoint, &JobFilter::default(), 1, None).await?.total)
    }

    /// Reads the number of jobs in the dead letter, in total, by queue and by error.
    pub async fn dead_letter_stats(&self) -> Result<WithJson<DeadLetterStats>, Error> {
        self.get(self.endpoint(&["dead-letter", "stats"])).await?.read()
    }

    /// Makes the job available again, with 0 attempts.
    pub async fn retry_dead_letter(&self, id: &str) -> Result<WithJson<Job>, Error> {
        Ok(self
            .post_empty(self.endpoint(&["dead-letter", id, "retry"]))
            .await?
            .read::<OneJob>()?
            .job)
    }

    /// Deletes the job.
    pub async fn delete_dead_letter(&self, id: &str) -> Result<WithJson<DeletedJob>, Error> {
        self.delete(self.endpoint(&["dead-letter", id])).await?.read()
    }

    /// Deletes all jobs, those of one queue, or those that ended before a time (RFC 3339).
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
