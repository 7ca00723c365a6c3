//! The events of a worker, for logs.

use super::Finished;
use crate::{Error, Job};

/// An event in the life of a worker.
#[derive(Debug)]
pub enum Event<'a> {
    /// The worker is registered and begins to fetch jobs.
    Ready {
        /// The worker's id.
        worker_id: &'a str,
    },
    /// The server is unreachable. Sent once until it is reachable again.
    Away(&'a Error),
    /// The server is reachable again after [`Event::Away`].
    Back,
    /// An operator has told the worker not to fetch jobs.
    Quieted,
    /// An operator has told the worker to fetch jobs again.
    Resumed,
    /// The worker ends when its running jobs have finished.
    Draining {
        /// Number of running jobs.
        running: usize,
    },
    /// Running jobs are stopped and returned to their queues.
    Stopping {
        /// Number of running jobs.
        running: usize,
    },
    /// The handler of a job has started.
    Started(&'a Job),
    /// A job has ended, and its report was sent or given up.
    Finished(&'a Finished),
}
