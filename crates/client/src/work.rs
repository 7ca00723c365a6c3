use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use serde::{Deserialize, Serialize};

use crate::job::ManyJobs;
use crate::{Client, Error, Job, Kept};

/// Which jobs a worker would like to have.
#[derive(Debug, Clone, Serialize)]
pub struct Fetch {
    /// In order of preference.
    pub queues: Vec<String>,
    /// The most jobs to hand out.
    pub count: u32,
    /// Who fetches. Named workers can be looked at, quieted and given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_id: Option<String>,
    /// How long the server may wait for the first job; at most 30,000.
    pub wait_ms: u64,
    /// How long the jobs are reserved, in milliseconds; the server's default unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility_timeout_ms: Option<u64>,
    /// Which of the queues is served next.
    #[serde(flatten)]
    pub choice: Choice,
}

/// How the server chooses among the queues of a worker; the server's own settings go first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Choice {
    /// The pool that the worker belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// `strict`, `round-robin`, `weighted` or `least-loaded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Of each queue, for the weighted strategy.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, u64>,
}

impl Fetch {
    /// One job, without waiting and without a name.
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

    /// Names the worker that fetches.
    pub fn worker(mut self, id: impl Into<String>) -> Self {
        self.worker_id = Some(id.into());
        self
    }

    /// The most jobs to hand out; 1 unless set.
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

/// What a worker says about itself.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Registration {
    /// Unique among the workers of the server, or of the tenant.
    pub worker_id: String,
    /// Where it runs, for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Its process id, for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// What it serves, when its fetches name no queues.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<String>,
    /// The most jobs that it is given at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// What operators know it by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The version of the worker program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its pool, and how its queues take turns.
    #[serde(flatten)]
    pub choice: Choice,
}

/// What a server tells a worker that registers. Seconds.
#[derive(Debug, Clone, Deserialize)]
pub struct Welcome {
    /// Seconds between heartbeats.
    pub heartbeat_interval: Option<f64>,
    /// Seconds of silence after which the worker is given up and its jobs go to others.
    pub heartbeat_timeout: Option<f64>,
    /// Seconds for which a job is reserved, unless a fetch says otherwise.
    pub visibility_timeout_default: Option<f64>,
}

/// A worker is alive and runs these jobs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Beat {
    /// The worker.
    pub worker_id: String,
    /// The reservations of these are extended.
    pub active_jobs: Vec<String>,
    /// `running`, `quiet` or `terminate`: what the worker is by its own decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// How long its jobs are reserved from now on, in milliseconds; as before unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility_timeout_ms: Option<u64>,
}

/// What the server answers to a beat.
#[derive(Debug, Clone, Deserialize)]
pub struct Heartbeat {
    /// What the worker should become: `running`, `quiet` or `terminate`.
    pub state: String,
    /// Jobs whose reservation was extended.
    #[serde(default)]
    pub jobs_extended: Vec<String>,
    /// To be stopped: they were cancelled.
    #[serde(default)]
    pub jobs_cancelled: Vec<String>,
    /// To be stopped: they are not this worker's any more.
    #[serde(default)]
    pub jobs_lost: Vec<String>,
}

#[derive(Serialize)]
struct Leaving<'a> {
    worker_id: &'a str,
}

impl Client {
    /// Takes jobs to work on; none if there were none within the time to wait.
    pub async fn fetch(&self, fetch: &Fetch) -> Result<Vec<Kept<Job>>, Error> {
        let longer = Duration::from_millis(fetch.wait_ms);
        let endpoint = self.at(&["workers", "fetch"]);
        let answer = self.send_json(Method::POST, endpoint, fetch, longer).await?;
        Ok(answer.read::<ManyJobs>()?.jobs)
    }

    /// Reports that a worker is alive, and learns what it should do.
    pub async fn heartbeat(&self, beat: &Beat) -> Result<Kept<Heartbeat>, Error> {
        self.post(self.at(&["workers", "heartbeat"]), beat).await?.read()
    }

    /// Tells the server about a worker, and learns its intervals.
    pub async fn register(&self, worker: &Registration) -> Result<Kept<Welcome>, Error> {
        self.post(self.at(&["workers", "register"]), worker).await?.read()
    }

    /// Makes the server forget a worker. Jobs that it still holds are not affected.
    pub async fn deregister(&self, worker_id: &str) -> Result<(), Error> {
        let answer = self.post(self.at(&["workers", "deregister"]), &Leaving { worker_id }).await?;
        answer.read::<serde::de::IgnoredAny>()?;
        Ok(())
    }
}
