//! What a worker has done when it ends.

use super::{Ending, Finished, Reported};

/// The number of jobs that a worker has run, by result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Jobs acknowledged.
    pub completed: u64,
    /// Jobs failed, whether or not they are retried.
    pub failed: u64,
    /// Jobs that were cancelled, or passed to another worker.
    pub lost: u64,
    /// Jobs that were stopped and returned to their queues.
    pub handed_back: u64,
    /// Jobs that could not be reported. The server requeues them when their reservations end.
    pub abandoned: u64,
}

impl Summary {
    pub(super) fn count(&mut self, finished: &Finished) {
        let column = match (&finished.ending, &finished.reported) {
            (Ending::Unstarted, Reported::Taken(_) | Reported::Refused(_)) => return,
            (_, Reported::GivenUp(_)) => &mut self.abandoned,
            (_, Reported::Refused(_)) => &mut self.lost,
            (Ending::Completed, _) => &mut self.completed,
            (Ending::Failed(_), _) => &mut self.failed,
            (Ending::Cancelled | Ending::Lost, _) => &mut self.lost,
            (Ending::HandedBack | Ending::Unstarted, _) => &mut self.handed_back,
        };
        *column += 1;
    }
}
