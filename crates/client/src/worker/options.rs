//! The options of a worker.

use std::time::Duration;

use super::identity;
use crate::Choice;

/// The options of a worker.
#[derive(Debug, Clone)]
pub struct Options {
    /// The worker's id; by default the host's name, the process id and a random number.
    pub id: String,
    /// The queues, in order of preference.
    pub queues: Vec<String>,
    /// How the server chooses among the queues.
    pub choice: Choice,
    /// Maximum number of jobs to run at once, from 1 to 1,000.
    pub concurrency: u32,
    /// How long a fetch waits for a job; at most 30 s.
    pub wait: Duration,
    /// Maximum run time of a handler; the job's own timeout applies if it is shorter.
    pub timeout: Option<Duration>,
    /// How long running jobs may take to finish after a drain was requested.
    pub grace: Duration,
    /// How long a handler may take to stop.
    pub stop_within: Duration,
    /// How long to retry the registration at startup.
    pub connect_within: Duration,
    /// The worker ends after this many jobs.
    pub max_jobs: Option<u64>,
    /// The worker ends when no job is waiting.
    pub until_idle: bool,
    /// The program's version, for operators.
    pub version: Option<String>,
}

impl Options {
    /// Runs one job at a time from these queues, forever.
    pub fn new(queues: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            id: identity::unique(),
            queues: queues.into_iter().map(Into::into).collect(),
            choice: Choice::default(),
            concurrency: 1,
            wait: Duration::from_secs(20),
            timeout: None,
            grace: Duration::from_secs(25),
            stop_within: Duration::from_secs(10),
            connect_within: Duration::from_secs(5),
            max_jobs: None,
            until_idle: false,
            version: None,
        }
    }
}
