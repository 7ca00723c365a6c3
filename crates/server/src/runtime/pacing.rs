//! Decides when the engine thread polls its mailbox and when it submits a batch to the store.
//!
//! A commit costs nearly the same for one change as for fifty, and waking a thread costs more than
//! most decisions. So while the store is busy, the mailbox is polled at intervals rather than at every
//! request, and under load there is a minimum interval between batches. A lone client never waits.

use std::time::{Duration, Instant};

/// How often the mailbox is polled while the store is busy.
const POLL_INTERVAL: Duration = Duration::from_micros(200);
/// The minimum time between two batches under load.
const BATCH_INTERVAL: Duration = Duration::from_micros(600);
/// A batch with at least this many answers counts as load.
const LOAD_ANSWERS: usize = 16;

/// Tracks unfinished batches and the time of the next one.
#[derive(Default)]
pub(super) struct Pacing {
    /// Batches that were submitted and that the store has not finished.
    unfinished: usize,
    /// Under load, the earliest time of the next batch.
    not_before: Option<Instant>,
}

impl Pacing {
    /// How long requests may stay in the mailbox; `None` if the next one is to be served at once.
    pub fn pause(&self, now: Instant) -> Option<Duration> {
        if self.unfinished > 0 {
            return Some(POLL_INTERVAL);
        }
        let left = self.not_before?.saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    /// Whether a batch may be submitted at `now`.
    pub fn may_submit(&self, now: Instant) -> bool {
        self.unfinished == 0 && self.not_before.is_none_or(|not_before| now >= not_before)
    }

    /// Records that a batch with this many answers was submitted to the store.
    pub fn submitted(&mut self, answers: usize, now: Instant) {
        self.unfinished += 1;
        self.not_before = (answers >= LOAD_ANSWERS).then(|| now + BATCH_INTERVAL);
    }

    /// Records that the store has finished a batch.
    pub fn finished(&mut self) {
        self.unfinished = self.unfinished.saturating_sub(1);
    }

    /// Starts over, when the engine is rebuilt from the store.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_client_never_waits() {
        let (mut pacing, now) = (Pacing::default(), Instant::now());
        for _ in 0..3 {
            assert_eq!(pacing.pause(now), None);
            assert!(pacing.may_submit(now));
            pacing.submitted(1, now);
            assert_eq!(pacing.pause(now), Some(POLL_INTERVAL));
            assert!(!pacing.may_submit(now), "the store is busy");
            pacing.finished();
        }
    }

    #[test]
    fn under_load_batches_keep_a_minimum_interval() {
        let (mut pacing, now) = (Pacing::default(), Instant::now());
        pacing.submitted(LOAD_ANSWERS, now);
        pacing.finished();
        let soon = now + BATCH_INTERVAL / 2;
        assert!(!pacing.may_submit(soon));
        assert_eq!(pacing.pause(soon), Some(BATCH_INTERVAL / 2));
        assert!(pacing.may_submit(now + BATCH_INTERVAL));
        assert_eq!(pacing.pause(now + BATCH_INTERVAL), None);
    }
}
