//! Jobs as the server returns them.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::WithJson;

/// A job, as far as it has come. Times are RFC 3339, as the server wrote them.
#[derive(Debug, Clone, Deserialize)]
pub struct Job {
    /// A UUIDv7.
    pub id: String,
    /// The job type, such as `email.send`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The queue that it is in.
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
    /// Higher starts first.
    #[serde(default)]
    pub priority: i64,
    /// What the client attached: a JSON object.
    pub meta: Option<Box<RawValue>>,
    /// What the client attached, to find jobs by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The longest execution, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// How long a worker may hold the job without a word, in milliseconds.
    pub visibility_timeout_ms: Option<u64>,
    /// Who runs it, or ran it last.
    pub worker_id: Option<String>,
    /// When the server accepted it.
    pub created_at: Option<String>,
    /// When it last became available.
    pub enqueued_at: Option<String>,
    /// The earliest start that the client asked for.
    pub scheduled_at: Option<String>,
    /// The latest start that the client asked for.
    pub expires_at: Option<String>,
    /// When the present or last execution began.
    pub started_at: Option<String>,
    /// When a retryable job becomes available again.
    pub next_attempt_at: Option<String>,
    /// When it ended, in whatever way.
    pub completed_at: Option<String>,
    /// When it was cancelled.
    pub cancelled_at: Option<String>,
    /// When it was discarded.
    pub discarded_at: Option<String>,
    /// When its deadline passed, if that is how it ended.
    pub expired_at: Option<String>,
    /// What its worker returned.
    pub result: Option<Box<RawValue>>,
    /// The last error, unless the job has succeeded since.
    pub error: Option<WithJson<JobError>>,
    /// The history, oldest first.
    #[serde(default)]
    pub errors: Vec<WithJson<JobError>>,
}

/// Why an attempt failed.
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
    /// Whether the worker thought that another attempt might succeed.
    pub retryable: Option<bool>,
    /// The execution that failed, counted from 1.
    pub attempt: Option<u32>,
    occurred_at: Option<String>,
    timestamp: Option<String>,
}

impl Job {
    /// Whose it is, if the server goes by what jobs say themselves.
    pub fn tenant(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Meta {
            tenant_id: Option<String>,
        }
        serde_json::from_str::<Meta>(self.meta.as_ref()?.get()).ok()?.tenant_id
    }
}

impl JobError {
    /// When it happened. The specification's documents know it under two names.
    pub fn at(&self) -> Option<&str> {
        self.occurred_at.as_deref().or(self.timestamp.as_deref())
    }
}

/// Most answers about a job wrap it.
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
