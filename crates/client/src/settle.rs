use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Client, Error, Kept, Refusal};

/// A job is done.
#[derive(Debug, Clone, Serialize)]
pub struct Ack {
    /// The job that is done.
    pub job_id: String,
    /// With these two, the outcome of an execution that was given up is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<String>,
    /// The execution that is reported, as the fetch numbered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// What the job produced: any JSON, stored with the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
}

/// An attempt has failed.
#[derive(Debug, Clone, Serialize)]
pub struct Nack {
    /// The job that failed.
    pub job_id: String,
    /// Who ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<String>,
    /// The execution that is reported, as the fetch numbered it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// An object: `code` or `type`, `message`, `retryable`, and whatever else is to be kept.
    pub error: Value,
    /// Back into the queue at once, without a wait.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requeue: bool,
}

/// What became of the job.
#[derive(Debug, Clone, Deserialize)]
pub struct Settled {
    /// The job.
    pub id: String,
    /// Its state now.
    pub state: String,
    /// Executions begun so far.
    pub attempt: Option<u32>,
    /// Executions in all, the first included.
    pub max_attempts: Option<u32>,
    /// When it will be tried again, if it will.
    pub next_attempt_at: Option<String>,
    /// The wait until then, in milliseconds.
    pub retry_delay_ms: Option<u64>,
}

/// What became of one of many.
pub type SettledOne = Result<Kept<Settled>, Refusal>;

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
    pub async fn ack(&self, ack: &Ack) -> Result<Kept<Settled>, Error> {
        self.post(self.at(&["workers", "ack"]), ack).await?.read()
    }

    /// Reports that an execution failed. The server decides about a retry.
    pub async fn nack(&self, nack: &Nack) -> Result<Kept<Settled>, Error> {
        self.post(self.at(&["workers", "nack"]), nack).await?.read()
    }

    /// Many in one commit, each answered for itself, in order. Only Rota serves this.
    pub async fn ack_many(&self, acks: &[Ack]) -> Result<Vec<SettledOne>, Error> {
        self.settle("ack", acks).await
    }

    /// Many in one commit, each answered for itself, in order. Only Rota serves this.
    pub async fn nack_many(&self, nacks: &[Nack]) -> Result<Vec<SettledOne>, Error> {
        self.settle("nack", nacks).await
    }

    async fn settle(&self, how: &str, jobs: &[impl Serialize]) -> Result<Vec<SettledOne>, Error> {
        let answer = self.post(self.at(&["workers", how]), &Many { jobs }).await?;
        let odd = |cause: serde_json::Error| Error::NotOjs {
            url: self.url(),
            status: Some(answer.status),
            reason: format!("its answer has an unknown shape ({cause})"),
        };
        let results = answer.read::<Results>()?.results;
        results.iter().map(|raw| one(raw).map_err(odd)).collect()
    }
}

fn one(raw: &RawValue) -> Result<SettledOne, serde_json::Error> {
    match serde_json::from_str::<Refused>(raw.get()) {
        Ok(refused) => Ok(Err(Refusal { status: refused.status, ..refused.error })),
        Err(_) => serde_json::from_str(raw.get()).map(Ok),
    }
}
