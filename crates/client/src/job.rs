//! Jobs as the server returns them.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::WithJson;

/// A job. Times are RFC 3339, as the server wrote them.
#[derive(Debug, Clone, Deserialize)]
pub struct Job {
    /// A UUIDv7.
    pub id: String,
    /// The job type, such as `email.send`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The job's queue.
    pub queue: String,
    /// A JSON array.
    pub args: Box<RawValue>,
    /// One of the eight OJS states, such as `available`.
    pub state: String,
    /// Number of executions started.
    #[serde(default)]
    pub attempt: u32,
    /// Maximum number of executions, including the first.
    pub max_attempts: Option<u32>,
    /// Jobs with a higher priority start first.
    #[serde(default)]
    pub priority: i64,
    /// The client's metadata, a JSON object.
    pub meta: Option<Box<RawValue>>,
    /// The client's tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Maximum run time in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Length of the reservation in milliseconds.
    pub visibility_timeout_ms: Option<u64>,
    /// The rate limit that the job carries, a JSON object as the client wrote it.
    pub rate_limit: Option<Box<RawValue>>,
    /// The worker of the current or last execution.
    pub worker_id: Option<String>,
    /// When the server accepted it.
    pub created_at: Option<String>,
    /// When it last became available.
    pub enqueued_at: Option<String>,
    /// The earliest start, if the client set one.
    pub scheduled_at: Option<String>,
    /// The latest start, if the client set one.
    pub expires_at: Option<String>,
    /// When the current or last execution started.
    pub started_at: Option<String>,
    /// When a retryable job becomes available again.
    pub next_attempt_at: Option<String>,
    /// When the job finished.
    pub completed_at: Option<String>,
    /// When it was cancelled.
    pub cancelled_at: Option<String>,
    /// When it was discarded.
    pub discarded_at: Option<String>,
    /// When the job expired.
    pub expired_at: Option<String>,
    /// The result that the worker returned.
    pub result: Option<Box<RawValue>>,
    /// The last error, unless the job has succeeded since.
    pub error: Option<WithJson<JobError>>,
    /// The errors of failed executions, oldest first.
    #[serde(default)]
    pub errors: Vec<WithJson<JobError>>,
}

/// The error of a failed execution.
#[derive(Debug, Clone, Deserialize)]
pub struct JobError {
    /// The class of the error, such as `Timeout`; retry policies match on it.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// What went wrong, for programs.
    pub code: Option<String>,
    /// A message for people.
    #[serde(default)]
    pub message: String,
    /// Whether the worker considered the error retryable.
    pub retryable: Option<bool>,
    /// Number of the failed execution, counted from 1.
    pub attempt: Option<u32>,
    occurred_at: Option<String>,
    timestamp: Option<String>,
}

impl Job {
    /// The tenant in `meta.tenant_id`.
    pub fn tenant(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Meta {
            tenant_id: Option<String>,
        }
        serde_json::from_str::<Meta>(self.meta.as_ref()?.get()).ok()?.tenant_id
    }
}

impl JobError {
    /// When the error happened. The specification has two names for this member.
    pub fn at(&self) -> Option<&str> {
        self.occurred_at.as_deref().or(self.timestamp.as_deref())
    }
}

/// The wrapper of most responses with a job.
#[derive(Deserialize)]
pub(crate) struct OneJob {
    pub job: WithJson<Job>,
    #[serde(default)]
    pub quota_exceeded: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct ManyJobs {
    pub jobs: Vec<WithJson<Job>>,
    #[serde(default)]
    pub quota_exceeded: Vec<String>,
}
