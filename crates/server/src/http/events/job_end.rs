//! Waits until one job has ended, by following the events.

use rota_model::Seq;
use tokio::sync::watch;

use crate::runtime::{About, Events, ends_job};

/// Notices events from its creation on.
pub(in super::super) struct JobEnd<'a> {
    events: &'a Events,
    arrival: watch::Receiver<()>,
    ending: watch::Receiver<bool>,
    /// The number of the next event to look at.
    next: u64,
    seq: Seq,
}

impl<'a> JobEnd<'a> {
    pub fn new(events: &'a Events, seq: Seq) -> Self {
        let (arrival, ending) = (events.listen(), events.ending());
        Self { events, arrival, ending, next: events.next_number(), seq }
    }

    /// Returns when the job may have ended, or the server is about to stop.
    pub async fn wait(&mut self) {
        while !self.has_ended() && !self.is_closing() {
            tokio::select! {
                arrived = self.arrival.changed() => if arrived.is_err() { return },
                _ = self.ending.changed() => return,
            }
        }
    }

    pub fn is_closing(&self) -> bool {
        *self.ending.borrow()
    }

    /// Whether an event since the last look says so. If events were missed, it may have ended, too.
    fn has_ended(&mut self) -> bool {
        loop {
            let look = self.events.look(self.next);
            let missed = look.from > self.next;
            let Some(chunk) = look.chunk else { return missed };
            let is_end =
                |kind| About::of(kind).job.is_some_and(|job| job.seq == self.seq) && ends_job(kind);
            let ended = chunk.from(look.from).any(|(_, event)| is_end(&event.kind));
            self.next = chunk.end();
            if missed || ended {
                return true;
            }
        }
    }
}
