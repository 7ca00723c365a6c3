//! The jobs that one limit has rescheduled, in the order in which it will admit them.

use std::collections::BTreeSet;

use rota_model::Seq;

/// Instants are milliseconds of the limits' clock.
#[derive(Debug, Default)]
pub(crate) struct BookedJobs {
    /// Jobs rescheduled once, by the instant for which they are booked.
    once: BTreeSet<(i64, Seq)>,
    /// Jobs that came back while the limit was still closed. They go before all of `once`, whatever
    /// their instants.
    again: BTreeSet<(i64, Seq)>,
    /// Jobs that came back and have not started yet.
    back: BTreeSet<Seq>,
}

impl BookedJobs {
    pub fn add(&mut self, at: i64, seq: Seq, again: bool) {
        self.booked_mut(again).insert((at, seq));
    }

    pub fn remove(&mut self, at: i64, seq: Seq, again: bool) {
        self.booked_mut(again).remove(&(at, seq));
    }

    pub fn came_back(&mut self, seq: Seq) {
        self.back.insert(seq);
    }

    pub fn forget(&mut self, seq: Seq) {
        self.back.remove(&seq);
    }

    fn booked_mut(&mut self, again: bool) -> &mut BTreeSet<(i64, Seq)> {
        if again { &mut self.again } else { &mut self.once }
    }

    /// Number of jobs booked before one that is rescheduled now, and the latest instant among them.
    pub fn before(&self, again: bool) -> (u64, Option<i64>) {
        let once = Some(&self.once).filter(|_| !again);
        let sets = || once.into_iter().chain([&self.again]);
        let count = sets().map(|set| set.len() as u64).sum();
        (count, sets().filter_map(|set| set.last()).map(|&(at, _)| at).max())
    }

    /// Number of jobs that came back and have not started yet.
    pub fn waiting(&self) -> u64 {
        self.back.len() as u64
    }

    pub fn has_booked(&self) -> bool {
        !self.once.is_empty() || !self.again.is_empty()
    }

    /// The earliest booked instant, and the job that is first in order.
    pub fn first(&self) -> Option<(i64, Seq)> {
        let (once, again) = (self.once.first(), self.again.first());
        let earliest = once.into_iter().chain(again).map(|&(at, _)| at).min()?;
        Some((earliest, again.or(once)?.1))
    }
}
