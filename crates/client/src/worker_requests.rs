//! The requests of a worker: register, fetch, heartbeat and deregister.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};

use crate::job::ManyJobs;
use crate::{Client, Error, Job, WithJson};

/// A request for jobs to run.
#[derive(Debug, Clone, Serialize)]
pub struct Fetch {
    /// The queues, in order of preference.
    pub queues: Vec<String>,
    /// Maximum number of jobs to return.
    pub count: u32,
    /// The worker's id. Only workers with an id can be monitored and controlled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<String>,
    /// How long the server may wait for the first job, in milliseconds; at most 30,000.
    pub wait_ms: u64,
    /// Length of the reservations in milliseconds; `None` uses the server's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility_timeout_ms: Option<u64>,
    /// How the server chooses among the queues.
    #[serde(flatten)]
    pub choice: Choice,
}

/// How the server chooses among the queues of a worker. The server's own settings take precedence.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Choice {
    /// The pool that the worker belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// `strict`, `round-robin`, `weighted` or `least-loaded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Weights by queue, for the weighted strategy.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, u64>,
}

impl Fetch {
    /// A fetch of one job, without waiting and without a worker id.
    pub fn from(queues: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            queues: queues.into_iter().map(Into::into).collect(),
            count: 1,
            worker_id: None,
            wait_ms: 0,
            visibility_timeout_ms: None,
            choice: Choice::default(),
        }
    }

    /// Sets the worker's id.
    pub fn worker(mut self, id: impl Into<String>) -> Self {
        self.worker_id = Some(id.into());
        self
    }

    /// Maximum number of jobs to return; 1 by default.
    pub fn count(mut self, count: u32) -> Self {
        self.count = count;
        self
    }

    /// How long to wait for the first job, in milliseconds; up to 30,000 with Rota.
    pub fn wait_ms(mut self, ms: u64) -> Self {
        self.wait_ms = ms;
        self
    }

    /// How the queues take turns.
    pub fn choice(mut self, choice: Choice) -> Self {
        self.choice = choice;
        self
    }
}

/// The registration of a worker.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Registration {
    /// Unique among the workers of the server, or of the tenant.
    pub worker_id: String,
    /// The host's name, for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// The process id, for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The queues to serve if fetches name none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<String>,
    /// Maximum number of jobs to run at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Labels for operators.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The version of the worker program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The worker's pool, and how the server chooses among the queues.
    #[serde(flatten)]
    pub choice: Choice,
}

/// The response to a registration.
#[derive(Debug, Clone, Deserialize)]
pub struct Welcome {
    /// Seconds between heartbeats.
    pub heartbeat_interval: Option<f64>,
    /// Seconds without a request after which the worker counts as dead and its jobs are requeued.
    pub heartbeat_timeout: Option<f64>,
    /// Default length of reservations, in seconds.
    pub visibility_timeout_default: Option<f64>,
}

/// A heartbeat request.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Beat {
    /// The worker.
    pub worker_id: String,
    /// The jobs whose reservations are to be extended.
    pub active_jobs: Vec<String>,
    /// The state of the worker: `running`, `quiet` or `terminate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// New length of the reservations in milliseconds; `None` keeps the present one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility_timeout_ms: Option<u64>,
}

/// The response to a heartbeat.
#[derive(Debug, Clone, Deserialize)]
pub struct Heartbeat {
    /// The state that the worker should enter: `running`, `quiet` or `terminate`.
    pub state: String,
    /// Jobs whose reservation was extended.
    #[serde(default)]
    pub jobs_extended: Vec<String>,
    /// Jobs to stop because they were cancelled.
    #[serde(default)]
    pub jobs_cancelled: Vec<String>,
    /// Jobs to stop because they do not belong to this worker any more.
    #[serde(default)]
    pub jobs_lost: Vec<String>,
}

#[derive(Serialize)]
struct Leaving<'a> {
    worker_id: &'a str,
}

impl Client {
    /// Fetches jobs to run. Returns none if there were none within the waiting time.
    pub async fn fetch(&self, fetch: &Fetch) -> Result<Vec<WithJson<Job>>, Error> {
        let longer = Duration::from_millis(fetch.wait_ms);
        let endpoint = self.endpoint(&["workers", "fetch"]);
        let answer = self.send_json(Method::POST, endpoint, fetch, longer).await?;
        Ok(answer.read::<ManyJobs>()?.jobs)
    }

    /// Sends a heartbeat.
    pub async fn heartbeat(&self, beat: &Beat) -> Result<WithJson<Heartbeat>, Error> {
        self.post(self.endpoint(&["workers", "heartbeat"]), beat).await?.read()
    }

    /// Registers a worker.
    pub async fn register(&self, worker: &Registration) -> Result<WithJson<Welcome>, Error> {
        self.post(self.endpoint(&["workers", "register"]), worker).await?.read()
    }

    /// Deregisters a worker. Jobs that it still has are not affected.
    pub async fn deregister(&self, worker_id: &str) -> Result<(), Error> {
        let answer =
            self.post(self.endpoint(&["workers", "deregister"]), &Leaving { worker_id }).await?;
        answer.read::<serde::de::IgnoredAny>()?;
        Ok(())
    }
}
