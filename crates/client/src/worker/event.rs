use super::Finished;
use crate::{Error, Job};

/// Something that whoever watches a worker may want to know.
#[derive(Debug)]
pub enum Event<'a> {
    /// The server knows the worker, and jobs are fetched from now on.
    Ready {
        /// The name under which it registered.
        worker_id: &'a str,
    },
    /// The server does not answer. Said once, until it is back.
    Away(&'a Error),
    /// The server answers again after [`Event::Away`].
    Back,
    /// An operator said that no more jobs are to be fetched.
    Quieted,
    /// An operator said that jobs are to be fetched again.
    Resumed,
    /// The worker ends when its running jobs are done.
    Draining {
        /// Jobs that are still running.
        running: usize,
    },
    /// Running jobs are stopped and handed back.
    Stopping {
        /// Jobs that are still running.
        running: usize,
    },
    /// A job was handed to the handler.
    Started(&'a Job),
    /// A job has ended and the server was told, or could not be.
    Finished(&'a Finished),
}
