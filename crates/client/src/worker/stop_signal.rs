//! Telling handlers to stop.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// Why a handler must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// It has exceeded its timeout.
    Timeout,
    /// The job was cancelled.
    Cancelled,
    /// The job does not belong to this worker any more; another one may be running it.
    Lost,
    /// The worker is shutting down.
    Shutdown,
}

/// Signals to a handler that it must stop.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<Option<StopReason>>);

impl Stop {
    pub(super) fn new() -> (watch::Sender<Option<StopReason>>, Self) {
        let (sender, receiver) = watch::channel(None);
        (sender, Self(receiver))
    }

    /// Waits until the handler must stop.
    pub async fn requested(&mut self) -> StopReason {
        match self.0.wait_for(Option::is_some).await {
            Ok(reason) => reason.unwrap_or(StopReason::Shutdown),
            Err(_) => StopReason::Shutdown,
        }
    }

    /// Why the handler must stop; `None` if it need not.
    pub fn reason(&self) -> Option<StopReason> {
        *self.0.borrow()
    }
}

/// What the worker tells the task of a job to do.
#[derive(Debug, Clone, Copy)]
pub(super) struct JobOrders {
    pub stop: Option<StopReason>,
    /// End of the reservation, as far as the worker knows.
    pub reserved_until: Instant,
    /// Set during shutdown: when to give up reporting the outcome.
    pub report_deadline: Option<Instant>,
}

/// A restarted server continues reservations and extends them, so it may still accept an outcome for
/// this long.
const AFTER_RETURN: Duration = Duration::from_secs(60);

impl JobOrders {
    /// When to give up reporting the outcome.
    pub fn give_up_at(&self) -> Instant {
        let ended = self.reserved_until + AFTER_RETURN;
        self.report_deadline.map_or(ended, |last| last.min(ended))
    }
}
