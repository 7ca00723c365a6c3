use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// Why a handler has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// It has taken longer than it may.
    Timeout,
    /// The job was cancelled.
    Cancelled,
    /// The job is not this worker's any more; somebody else may be running it.
    Lost,
    /// The worker ends.
    Shutdown,
}

/// Tells a handler that it has to stop.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<Option<StopReason>>);

impl Stop {
    pub(super) fn new() -> (watch::Sender<Option<StopReason>>, Self) {
        let (sender, receiver) = watch::channel(None);
        (sender, Self(receiver))
    }

    /// Waits until the handler has to stop.
    pub async fn requested(&mut self) -> StopReason {
        match self.0.wait_for(Option::is_some).await {
            Ok(reason) => reason.unwrap_or(StopReason::Shutdown),
            Err(_) => StopReason::Shutdown,
        }
    }

    /// Why the handler has to stop, if it has to.
    pub fn reason(&self) -> Option<StopReason> {
        *self.0.borrow()
    }
}

/// What the worker tells the task of a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Orders {
    pub stop: Option<StopReason>,
    /// Until then nobody else gets the job, as far as is known here.
    pub reserved_until: Instant,
    /// The worker ends: an outcome that is not taken by then is given up.
    pub last_word: Option<Instant>,
}

/// A server that was away goes on with its reservations when it returns, and grants some time more.
const AFTER_RETURN: Duration = Duration::from_secs(60);

impl Orders {
    /// When there is no sense any more in repeating an outcome.
    pub fn give_up_at(&self) -> Instant {
        let ended = self.reserved_until + AFTER_RETURN;
        self.last_word.map_or(ended, |last| last.min(ended))
    }
}
