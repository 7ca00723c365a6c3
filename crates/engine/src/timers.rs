//! Timers of scheduled jobs, and of failed jobs that wait for a retry.

use std::collections::BTreeMap;

use rota_model::{ClassId, Millis, Seq, State};

use crate::scheduler::Size;

#[derive(Default)]
pub(crate) struct Timers(BTreeMap<(Millis, Seq), Timer>);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Timer {
    pub class: ClassId,
    pub attempt: u32,
    pub pauses: u32,
    pub size: Size,
    pub state: State,
}

impl Timers {
    pub fn add(&mut self, due: Millis, seq: Seq, timer: Timer) {
        self.0.insert((due, seq), timer);
    }

    pub fn remove(&mut self, due: Millis, seq: Seq) -> Option<Timer> {
        self.0.remove(&(due, seq))
    }

    pub fn next(&self) -> Option<Millis> {
        self.0.first_key_value().map(|(&(due, _), _)| due)
    }

    /// Earliest first.
    pub fn iter(&self) -> impl Iterator<Item = (Millis, &Timer)> {
        self.0.iter().map(|(&(due, _), timer)| (due, timer))
    }

    pub fn pop_due(&mut self, now: Millis) -> Option<(Seq, Timer)> {
        let entry = self.0.first_entry()?;
        let (due, seq) = *entry.key();
        (due <= now).then(|| (seq, entry.remove()))
    }
}
