//! The trait of handlers.

use std::sync::Arc;

use super::{Outcome, Stop};
use crate::{Job, WithJson};

/// Runs jobs.
///
/// A handler should return [`Outcome::Stopped`] soon after [`Stop`] is signalled. If it takes longer
/// than [`stop_within`](super::Options::stop_within), it is dropped at its next await.
pub trait Handler: Send + Sync + 'static {
    /// Runs one job. `stop` signals that the handler should stop.
    fn handle(&self, job: Arc<WithJson<Job>>, stop: Stop) -> impl Future<Output = Outcome> + Send;
}

impl<F, Handling> Handler for F
where
    F: Fn(Arc<WithJson<Job>>, Stop) -> Handling + Send + Sync + 'static,
    Handling: Future<Output = Outcome> + Send,
{
    fn handle(&self, job: Arc<WithJson<Job>>, stop: Stop) -> impl Future<Output = Outcome> + Send {
        self(job, stop)
    }
}
