//! When the engine thread looks at its inbox, and when it hands over what has gathered.
//!
//! A commit costs the same for one change as for fifty, and being woken costs more than most
//! decisions. So while the store is busy the inbox is looked at now and then instead of at every
//! request; and a batch in a crowd waits for as much company as the last one had, for a moment at
//! the most. A client that is alone never waits.

use std::time::{Duration, Instant};

/// How often the inbox is looked at while the store is busy.
const GLANCE: Duration = Duration::from_micros(150);
/// The longest that a batch waits for company.
const GATHERING: Duration = Duration::from_micros(400);
/// So many answers in a batch are a crowd.
const CROWD: usize = 8;

#[derive(Default)]
pub(super) struct Pacing {
    /// Batches that the store has and has not finished.
    busy: usize,
    /// How many were answered by the last batch.
    company: usize,
    /// When the batch that is being gathered began.
    since: Option<Instant>,
}

impl Pacing {
    /// How long the inbox may be left alone; `None` when the next request is to be served at once.
    pub fn pause(&self, now: Instant) -> Option<Duration> {
        if self.busy > 0 {
            return Some(GLANCE);
        }
        let since = self.since?;
        let left = GATHERING.saturating_sub(now.duration_since(since));
        Some(left.clamp(Duration::from_micros(20), GLANCE))
    }

    /// Whether to hand over a batch with so many answers now.
    pub fn is_time(&mut self, answers: usize, now: Instant) -> bool {
        if self.busy > 0 {
            return false;
        }
        let since = *self.since.get_or_insert(now);
        self.company < CROWD
            || answers >= self.company - self.company / 4
            || now.duration_since(since) >= GATHERING
    }

    pub fn handed_over(&mut self, answers: usize) {
        self.busy += 1;
        self.company = answers;
        self.since = None;
    }

    pub fn store_is_free(&mut self) {
        self.busy = self.busy.saturating_sub(1);
    }

    /// The store starts over, and so does this.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_who_is_alone_never_waits() {
        let (mut pacing, now) = (Pacing::default(), Instant::now());
        for _ in 0..3 {
            assert_eq!(pacing.pause(now), None);
            assert!(pacing.is_time(1, now));
            pacing.handed_over(1);
            assert_eq!(pacing.pause(now), Some(GLANCE));
            assert!(!pacing.is_time(1, now), "the store is busy");
            pacing.store_is_free();
        }
    }

    #[test]
    fn a_crowd_waits_for_its_company_but_not_for_long() {
        let (mut pacing, now) = (Pacing::default(), Instant::now());
        pacing.handed_over(64);
        pacing.store_is_free();
        assert!(!pacing.is_time(1, now));
        assert!(pacing.pause(now).is_some());
        assert!(!pacing.is_time(47, now));
        assert!(pacing.is_time(48, now), "most are here");
        assert!(pacing.is_time(2, now + GATHERING), "it has been long enough");
    }
}
