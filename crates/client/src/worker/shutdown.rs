use tokio::sync::watch;

/// How far a worker is on its way to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Working,
    /// Fetching nothing, until told to work again.
    Quiet,
    /// Fetching nothing, and ending when the running jobs are done.
    Draining,
    /// Ending now.
    Stopping,
}

/// Tells a worker to end.
#[derive(Debug)]
pub struct Trigger(watch::Sender<Phase>);

/// Hears when the worker has to end.
#[derive(Debug, Clone)]
pub struct Shutdown(watch::Receiver<Phase>);

impl Shutdown {
    /// Without its trigger, a worker works for ever.
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
    /// Fetch no more for now.
    pub fn quiet(&self) {
        self.change(|phase| (phase == Phase::Working).then_some(Phase::Quiet));
    }

    /// After [`quiet`](Self::quiet): fetch again.
    pub fn resume(&self) {
        self.change(|phase| (phase == Phase::Quiet).then_some(Phase::Working));
    }

    /// Fetch no more, let running jobs finish, then end.
    pub fn drain(&self) {
        self.change(|phase| (phase < Phase::Draining).then_some(Phase::Draining));
    }

    /// Stop running jobs, hand them back, and end.
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
