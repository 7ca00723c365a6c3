use std::time::Duration;

use super::identity;
use crate::Choice;

/// How a worker works.
#[derive(Debug, Clone)]
pub struct Options {
    /// The worker's name; of the host, the process and chance unless told.
    pub id: String,
    /// In order of preference.
    pub queues: Vec<String>,
    /// How the server chooses among them.
    pub choice: Choice,
    /// Jobs at once, from 1 to 1,000.
    pub concurrency: u32,
    /// How long a fetch waits for a job; at most 30 s.
    pub wait: Duration,
    /// How long a handler may take, if the job does not say less.
    pub timeout: Option<Duration>,
    /// How long running jobs may take to finish once the worker is to end.
    pub grace: Duration,
    /// How long a handler that was told to stop may take for it.
    pub stop_within: Duration,
    /// How long the server may be away at the start.
    pub connect_within: Duration,
    /// The worker ends after so many jobs.
    pub max_jobs: Option<u64>,
    /// The worker ends when no job is waiting.
    pub until_idle: bool,
    /// Of the program, for operators.
    pub version: Option<String>,
}

impl Options {
    /// One job at a time from these queues, for ever.
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
