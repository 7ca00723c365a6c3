use std::sync::Arc;

use super::{Outcome, Stop};
use crate::{Job, Kept};

/// What is done with a job.
///
/// A handler that is told to [`Stop`] should do so soon and answer [`Outcome::Stopped`]; one that
/// takes longer than [`stop_within`](super::Options::stop_within) is dropped at its next await.
pub trait Handler: Send + Sync + 'static {
    /// Runs one job. `stop` tells when the result is not wanted any more.
    fn handle(&self, job: Arc<Kept<Job>>, stop: Stop) -> impl Future<Output = Outcome> + Send;
}

impl<F, Handling> Handler for F
where
    F: Fn(Arc<Kept<Job>>, Stop) -> Handling + Send + Sync + 'static,
    Handling: Future<Output = Outcome> + Send,
{
    fn handle(&self, job: Arc<Kept<Job>>, stop: Stop) -> impl Future<Output = Outcome> + Send {
        self(job, stop)
    }
}
