use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::Id;
use tokio::time::Instant;

use super::StopReason;
use super::stop::Orders;
use crate::Job;

/// The jobs that this worker holds, each with a line to its task.
#[derive(Debug, Default)]
pub(super) struct Running(HashMap<Id, Held>);

#[derive(Debug)]
pub(super) struct Held {
    id: String,
    since: Instant,
    visibility: Duration,
    orders: watch::Sender<Orders>,
}

impl Held {
    pub fn new(job: &Job, usual: Duration) -> (Self, watch::Receiver<Orders>) {
        let since = Instant::now();
        let visibility = job.visibility_timeout_ms.map_or(usual, Duration::from_millis);
        let orders = Orders { stop: None, reserved_until: since + visibility, last_word: None };
        let (orders, receiver) = watch::channel(orders);
        (Self { id: job.id.clone(), since, visibility, orders }, receiver)
    }

    fn is_ours(&self) -> bool {
        !matches!(self.orders.borrow().stop, Some(StopReason::Lost | StopReason::Cancelled))
    }
}

impl Running {
    /// By its task and not by its id: a job that was lost may come again while it is being stopped.
    pub fn add(&mut self, task: Id, held: Held) {
        self.0.insert(task, held);
    }

    pub fn remove(&mut self, task: Id) {
        self.0.remove(&task);
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// For a heartbeat.
    pub fn ids(&self) -> Vec<String> {
        self.0.values().filter(|held| held.is_ours()).map(|held| held.id.clone()).collect()
    }

    pub fn reservations(&self) -> impl Iterator<Item = Duration> {
        self.0.values().filter(|held| held.is_ours()).map(|held| held.visibility)
    }

    /// What was named in a beat that was sent then and well received.
    pub fn extend(&mut self, sent: Instant) {
        for held in self.0.values().filter(|held| held.since < sent && held.is_ours()) {
            held.orders.send_modify(|orders| orders.reserved_until = sent + held.visibility);
        }
    }

    /// A beat says nothing about jobs that came after it was sent, whatever their ids are.
    pub fn stop(&mut self, ids: &[String], sent: Instant, reason: StopReason) {
        let named = |held: &&Held| held.since < sent && ids.contains(&held.id);
        for held in self.0.values().filter(named) {
            held.orders.send_modify(|orders| orders.stop = orders.stop.or(Some(reason)));
        }
    }

    pub fn stop_all(&mut self, last_word: Instant) {
        for held in self.0.values() {
            held.orders.send_modify(|orders| {
                orders.stop = orders.stop.or(Some(StopReason::Shutdown));
                orders.last_word = Some(last_word);
            });
        }
    }
}
