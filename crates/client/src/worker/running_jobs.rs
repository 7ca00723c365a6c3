//! The jobs that a worker is running.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::Id;
use tokio::time::Instant;

use super::StopReason;
use super::stop_signal::JobOrders;
use crate::Job;

/// The running jobs of a worker, each with a channel to its task.
#[derive(Debug, Default)]
pub(super) struct RunningJobs(HashMap<Id, RunningJob>);

#[derive(Debug)]
pub(super) struct RunningJob {
    id: String,
    since: Instant,
    visibility: Duration,
    orders: watch::Sender<JobOrders>,
}

impl RunningJob {
    pub fn new(job: &Job, usual: Duration) -> (Self, watch::Receiver<JobOrders>) {
        let since = Instant::now();
        let visibility = job.visibility_timeout_ms.map_or(usual, Duration::from_millis);
        let orders =
            JobOrders { stop: None, reserved_until: since + visibility, report_deadline: None };
        let (orders, receiver) = watch::channel(orders);
        (Self { id: job.id.clone(), since, visibility, orders }, receiver)
    }

    fn is_ours(&self) -> bool {
        !matches!(self.orders.borrow().stop, Some(StopReason::Lost | StopReason::Cancelled))
    }
}

impl RunningJobs {
    /// The key is the task and not the job's id, because a lost job may be fetched again while its first
    /// execution is being stopped.
    pub fn add(&mut self, task: Id, held: RunningJob) {
        self.0.insert(task, held);
    }

    pub fn remove(&mut self, task: Id) {
        self.0.remove(&task);
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The ids for a heartbeat.
    pub fn ids(&self) -> Vec<String> {
        self.0.values().filter(|held| held.is_ours()).map(|held| held.id.clone()).collect()
    }

    pub fn reservations(&self) -> impl Iterator<Item = Duration> {
        self.0.values().filter(|held| held.is_ours()).map(|held| held.visibility)
    }

    /// Records that a heartbeat sent at this time has extended the reservations.
    pub fn extend(&mut self, sent: Instant) {
        for held in self.0.values().filter(|held| held.since < sent && held.is_ours()) {
            held.orders.send_modify(|orders| orders.reserved_until = sent + held.visibility);
        }
    }

    /// Stops jobs that the response to a heartbeat names. It does not apply to jobs fetched after the
    /// heartbeat was sent, even with the same id.
    pub fn stop(&mut self, ids: &[String], sent: Instant, reason: StopReason) {
        let named = |held: &&RunningJob| held.since < sent && ids.contains(&held.id);
        for held in self.0.values().filter(named) {
            held.orders.send_modify(|orders| orders.stop = orders.stop.or(Some(reason)));
        }
    }

    pub fn stop_all(&mut self, report_deadline: Instant) {
        for held in self.0.values() {
            held.orders.send_modify(|orders| {
                orders.stop = orders.stop.or(Some(StopReason::Shutdown));
                orders.report_deadline = Some(report_deadline);
            });
        }
    }
}
