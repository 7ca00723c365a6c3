//! Requesting and observing the shutdown of a worker.

use tokio::sync::watch;

/// The phase of a worker's shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Working,
    /// Fetches nothing until it is resumed.
    Quiet,
    /// Fetches nothing, and ends when the running jobs have finished.
    Draining,
    /// Stops the running jobs and ends.
    Stopping,
}

/// Requests the shutdown of a worker.
#[derive(Debug)]
pub struct Trigger(watch::Sender<Phase>);

/// Receives shutdown requests.
#[derive(Debug, Clone)]
pub struct Shutdown(watch::Receiver<Phase>);

impl Shutdown {
    /// Creates a connected pair. If the trigger is dropped, the worker is never shut down.
    pub fn new() -> (Trigger, Self) {
        let (sender, receiver) = watch::channel(Phase::Working);
        (Trigger(sender), Self(receiver))
    }

    pub(super) fn phase(&mut self) -> Phase {
        *self.0.borrow_and_update()
    }

    pub(super) async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Trigger {
    /// Stops fetching until [`resume`](Self::resume).
    pub fn quiet(&self) {
        self.change(|phase| (phase == Phase::Working).then_some(Phase::Quiet));
    }

    /// Fetches again after [`quiet`](Self::quiet).
    pub fn resume(&self) {
        self.change(|phase| (phase == Phase::Quiet).then_some(Phase::Working));
    }

    /// Stops fetching, lets running jobs finish, then ends.
    pub fn drain(&self) {
        self.change(|phase| (phase < Phase::Draining).then_some(Phase::Draining));
    }

    /// Stops running jobs, returns them to their queues, and ends.
    pub fn stop_now(&self) {
        self.change(|phase| (phase < Phase::Stopping).then_some(Phase::Stopping));
    }

    fn change(&self, next: impl FnOnce(Phase) -> Option<Phase>) {
        self.0.send_if_modified(|phase| match next(*phase) {
            Some(next) => {
                *phase = next;
                true
            }
            None => false,
        });
    }
}
