//! Reporting executions with ack and nack.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Client, Error, Refusal, WithJson};

/// The report of a successful execution.
#[derive(Debug, Clone, Serialize)]
pub struct Ack {
    /// The job.
    pub job_id: String,
    /// The worker that ran the job. With `worker_id` and `attempt`, the server rejects the report of an
    /// execution that it has already given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<String>,
    /// The execution that is reported, as the fetch numbered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The result as any JSON, which is stored with the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
}

/// The report of a failed execution.
#[derive(Debug, Clone, Serialize)]
pub struct Nack {
    /// The job.
    pub job_id: String,
    /// The worker that ran the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<String>,
    /// The execution that is reported, as the fetch numbered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// An object with `code` or `type`, `message`, `retryable`, and any other members to store.
    pub error: Value,
    /// Whether the job becomes available again at once.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requeue: bool,
}

/// The state of a job after a report.
#[derive(Debug, Clone, Deserialize)]
pub struct Settled {
    /// The job.
    pub id: String,
    /// Its state now.
    pub state: String,
    /// Number of executions started.
    pub attempt: Option<u32>,
    /// Maximum number of executions, including the first.
    pub max_attempts: Option<u32>,
    /// When the job will be retried, if it will.
    pub next_attempt_at: Option<String>,
    /// Delay until then, in milliseconds.
    pub retry_delay_ms: Option<u64>,
}

/// The result of one report in a batch.
pub type SettledOne = Result<WithJson<Settled>, Refusal>;

#[derive(Serialize)]
struct Many<'a, T> {
    jobs: &'a [T],
}

#[derive(Deserialize)]
struct Results {
    results: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Refused {
    status: u16,
    error: Refusal,
}

impl Client {
    /// Reports that an execution succeeded.
    pub async fn ack(&self, ack: &Ack) -> Result<WithJson<Settled>, Error> {
        self.post(self.endpoint(&["workers", "ack"]), ack).await?.read()
    }

    /// Reports that an execution failed. The server decides about a retry.
    pub async fn nack(&self, nack: &Nack) -> Result<WithJson<Settled>, Error> {
        self.post(self.endpoint(&["workers", "nack"]), nack).await?.read()
    }

    /// Sends many reports in one request. Returns one result per report, in order. Supported by Rota only.
    pub async fn ack_many(&self, acks: &[Ack]) -> Result<Vec<SettledOne>, Error> {
        self.settle("ack", acks).await
    }

    /// Sends many reports in one request. Returns one result per report, in order. Supported by Rota only.
    pub async fn nack_many(&self, nacks: &[Nack]) -> Result<Vec<SettledOne>, Error> {
        self.settle("nack", nacks).await
    }

    async fn settle(&self, how: &str, jobs: &[impl Serialize]) -> Result<Vec<SettledOne>, Error> {
        let answer = self.post(self.endpoint(&["workers", how]), &Many { jobs }).await?;
        let odd = |cause: serde_json::Error| Error::NotOjs {
            url: self.url(),
            status: Some(answer.status),
            reason: format!("its answer has an unknown shape ({cause})"),
        };
        let results = answer.read::<Results>()?.results;
        results.iter().map(|raw| parse_result(raw).map_err(odd)).collect()
    }
}

fn parse_result(raw: &RawValue) -> Result<SettledOne, serde_json::Error> {
    match serde_json::from_str::<Refused>(raw.get()) {
        Ok(refused) => Ok(Err(Refusal { status: refused.status, ..refused.error })),
        Err(_) => serde_json::from_str(raw.get()).map(Ok),
    }
}
