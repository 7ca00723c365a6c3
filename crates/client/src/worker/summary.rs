use super::{Ending, Finished, Reported};

/// What a worker has done in its life.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Jobs that were acknowledged.
    pub completed: u64,
    /// Jobs that failed, retried or not.
    pub failed: u64,
    /// Cancelled, or given to somebody else meanwhile.
    pub lost: u64,
    /// Stopped before they were done, and back in their queues.
    pub handed_back: u64,
    /// Nobody could be told what became of them. They return when their reservations end.
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
