//! When the engine thread looks at its inbox, and when it hands over what has gathered.
//!
//! A commit costs nearly the same for one change as for fifty, and being woken costs more than most
//! decisions. So while the store is busy the inbox is looked at now and then instead of at every
//! request, and in a crowd commits keep a little distance. A client that is alone never waits.

use std::time::{Duration, Instant};

/// How often the inbox is looked at while the store is busy.
const GLANCE: Duration = Duration::from_micros(200);
/// From one hand-over to the next, in a crowd.
const DISTANCE: Duration = Duration::from_micros(600);
/// So many answers in a batch are a crowd.
const CROWD: usize = 16;

#[derive(Default)]
pub(super) struct Pacing {
    /// Batches that the store has and has not finished.
    busy: usize,
    /// When there is a crowd, the next hand-over waits until then.
    not_before: Option<Instant>,
}

impl Pacing {
    /// How long the inbox may be left alone; `None` when the next request is to be served at once.
    pub fn pause(&self, now: Instant) -> Option<Duration> {
        if self.busy > 0 {
            return Some(GLANCE);
        }
        let left = self.not_before?.saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    /// Whether to hand over what has gathered now.
    pub fn is_time(&self, now: Instant) -> bool {
        self.busy == 0 && self.not_before.is_none_or(|not_before| now >= not_before)
    }

    /// A batch with so many answers went to the store.
    pub fn handed_over(&mut self, answers: usize, now: Instant) {
        self.busy += 1;
        self.not_before = (answers >= CROWD).then(|| now + DISTANCE);
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
            assert!(pacing.is_time(now));
            pacing.handed_over(1, now);
            assert_eq!(pacing.pause(now), Some(GLANCE));
            assert!(!pacing.is_time(now), "the store is busy");
            pacing.store_is_free();
        }
    }

    #[test]
    fn in_a_crowd_hand_overs_keep_their_distance() {
        let (mut pacing, now) = (Pacing::default(), Instant::now());
        pacing.handed_over(CROWD, now);
        pacing.store_is_free();
        let soon = now + DISTANCE / 2;
        assert!(!pacing.is_time(soon));
        assert_eq!(pacing.pause(soon), Some(DISTANCE / 2));
        assert!(pacing.is_time(now + DISTANCE));
        assert_eq!(pacing.pause(now + DISTANCE), None);
    }
}
