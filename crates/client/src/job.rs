use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Kept;

/// A job, as far as it has come. Times are RFC 3339, as the server wrote them.
#[derive(Debug, Clone, Deserialize)]
pub struct Job {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub queue: String,
    pub args: Box<RawValue>,
    pub state: String,
    #[serde(default)]
    pub attempt: u32,
    pub max_attempts: Option<u32>,
    #[serde(default)]
    pub priority: i64,
    pub meta: Option<Box<RawValue>>,
    #[serde(default)]
    pub tags: Vec<String>,
    pub timeout_ms: Option<u64>,
    pub visibility_timeout_ms: Option<u64>,
    pub worker_id: Option<String>,
    pub created_at: Option<String>,
    pub enqueued_at: Option<String>,
    pub scheduled_at: Option<String>,
    pub expires_at: Option<String>,
    pub started_at: Option<String>,
    pub next_attempt_at: Option<String>,
    pub completed_at: Option<String>,
    pub cancelled_at: Option<String>,
    pub discarded_at: Option<String>,
    pub expired_at: Option<String>,
    pub result: Option<Box<RawValue>>,
    /// The last error, unless the job has succeeded since.
    pub error: Option<Kept<JobError>>,
    /// The history, oldest first.
    #[serde(default)]
    pub errors: Vec<Kept<JobError>>,
}

/// Why an attempt failed.
#[derive(Debug, Clone, Deserialize)]
pub struct JobError {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub code: Option<String>,
    #[serde(default)]
    pub message: String,
    pub retryable: Option<bool>,
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
    pub job: Kept<Job>,
    #[serde(default)]
    pub quota_exceeded: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct ManyJobs {
    pub jobs: Vec<Kept<Job>>,
    #[serde(default)]
    pub quota_exceeded: Vec<String>,
}
