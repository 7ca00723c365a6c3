//! Evenly spaced starts, for throttles.
//!
//! Each start is due one interval after the one before. A late start does not shift those after it:
//! they catch up, but no two starts are closer than nine tenths of the interval. No process wakes up
//! on time every few milliseconds, so with intervals below 10 ms starts may be up to 5 ms closer.

use rota_model::Rate;

/// The interval below which several starts may happen at once.
const FINEST_US: i64 = 10_000;
/// How much too short the gap between two such starts may be.
const BUNCH_US: i64 = 5_000;
/// A start that is later than this, and later than one interval, is not caught up on: the key was
/// idle.
const BEHIND_US: i64 = 100_000;

/// Times are microseconds of the limits' clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// When the last start was due; not after `started_us`.
    due_us: i64,
    /// The last start, for measuring gaps. It differs from `started_us` if several starts happened
    /// close together: then it is when the last of them would have been with full gaps.
    spaced_us: i64,
    started_us: i64,
}

const NEVER: i64 = i64::MIN / 2;

impl Pace {
    pub fn none() -> Self {
        Self { due_us: NEVER, spaced_us: NEVER, started_us: NEVER }
    }

    pub fn at(due_us: i64, started_us: i64) -> Self {
        let started_us = started_us.max(due_us);
        Self { due_us, spaced_us: started_us, started_us }
    }

    pub fn started_us(self) -> i64 {
        self.started_us
    }

    pub fn due_us(self) -> Option<i64> {
        (self.due_us > NEVER).then_some(self.due_us)
    }

    /// When the next start is allowed, rounded up to milliseconds.
    pub fn next_ms(self, rate: Rate) -> i64 {
        self.next_us(rate).saturating_add(999).div_euclid(1_000)
    }

    /// When a start is allowed after `ahead` others.
    pub fn after_ms(self, rate: Rate, ahead: u64) -> i64 {
        let ahead = i64::try_from(ahead).unwrap_or(i64::MAX);
        let later = ahead.saturating_mul(rate.interval_us() as i64);
        self.next_us(rate).saturating_add(later).saturating_add(999).div_euclid(1_000)
    }

    fn next_us(self, rate: Rate) -> i64 {
        let interval = rate.interval_us() as i64;
        let gap = interval - interval / 10;
        let spaced = if interval < FINEST_US { self.spaced_us } else { self.started_us };
        self.due_us.saturating_add(interval).max(spaced.saturating_add(gap))
    }

    /// How many jobs may start now.
    pub fn free(self, rate: Rate, now_ms: i64) -> u64 {
        let (mut pace, mut free) = (self, 0);
        // As many as may happen at once, and one.
        let most = 1 + BUNCH_US as u64 / rate.interval_us().max(1);
        while free < most && pace.next_us(rate) <= now_ms.saturating_mul(1_000) {
            pace.record(rate, now_ms);
            free += 1;
        }
        free
    }

    /// Records a start that this rate applies to.
    pub fn record(&mut self, rate: Rate, now_ms: i64) {
        let (now, interval) = (now_ms.saturating_mul(1_000), rate.interval_us() as i64);
        let gap = interval - interval / 10;
        let due = self.due_us.saturating_add(interval);
        let due = match now.saturating_sub(due) <= interval.max(BEHIND_US) {
            true => due.min(now),
            false if interval < FINEST_US => now - BUNCH_US,
            false => now - interval / 10,
        };
        self.due_us = self.due_us.max(due);
        let bunch = if interval < FINEST_US { BUNCH_US - interval / 10 } else { 0 };
        let spaced = self.spaced_us.saturating_add(gap).max(now.saturating_sub(bunch));
        self.spaced_us = spaced.min(now).max(self.spaced_us);
        self.started_us = self.started_us.max(now);
    }

    /// Records a start of a job without a throttle.
    pub fn note(&mut self, now_ms: i64) {
        let now = now_ms.saturating_mul(1_000);
        self.due_us = self.due_us.max(now);
        self.spaced_us = self.spaced_us.max(now);
        self.started_us = self.started_us.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_second(limit: u32) -> Rate {
        Rate { limit, period_ms: 1_000 }
    }

    /// Start times below `until`, where the clock moves in steps of `step` milliseconds.
    fn starts(limit: u32, step: usize, until: i64) -> Vec<i64> {
        let (rate, mut pace, mut starts) = (per_second(limit), Pace::none(), Vec::new());
        for now in (0..until).step_by(step) {
            while pace.free(rate, now) > 0 {
                pace.record(rate, now);
                starts.push(now);
            }
        }
        starts
    }

    #[test]
    fn starts_keep_their_distance_and_the_rate_is_used() {
        for limit in [1, 3, 7, 10, 33, 60, 90, 100, 250, 333, 500, 1_000, 5_000] {
            for step in [1, 2, 3] {
                let starts = starts(limit, step, 20_000);
                let interval = 1_000.0 / f64::from(limit);
                let least = if interval < 10.0 { interval - 5.0 } else { interval * 0.9 };
                let gaps = starts.windows(2).map(|two| (two[1] - two[0]) as f64);
                gaps.for_each(|gap| assert!(gap >= least, "{limit} by {step}: {gap}"));
                let (used, due) = (starts.len() as f64, 20.0 * f64::from(limit));
                // If the clock moves by more than a tenth of the interval, every start is late.
                let reachable = step as f64 <= interval / 10.0 || interval < 10.0;
                assert!(!reachable || used >= due * 0.99, "{limit} by {step}: {used}");
                // The window of the period bounds the total.
                assert!(used <= due * 1.01 + 100.0, "{limit} by {step}: {used}");
            }
        }
    }

    #[test]
    fn a_start_that_is_late_by_a_tenth_moves_nothing_and_a_later_one_what_it_must() {
        let (rate, mut pace) = (per_second(10), Pace::none());
        pace.note(0);
        for (start, next) in [(110, 200), (210, 300), (300, 400), (450, 540), (540, 630)] {
            assert!(pace.next_ms(rate) <= start);
            pace.record(rate, start);
            assert_eq!(pace.next_ms(rate), next, "after the start at {start}");
        }
    }

    #[test]
    fn an_idle_pace_saves_nothing_up() {
        let (rate, mut pace) = (per_second(10), Pace::none());
        pace.note(0);
        let mut now = 60_000;
        let mut gaps = Vec::new();
        for _ in 0..12 {
            pace.record(rate, now);
            gaps.push(pace.next_ms(rate) - now);
            now = pace.next_ms(rate);
        }
        assert_eq!((gaps[0], &gaps[1..]), (90, &[100; 11][..]));
    }

    #[test]
    fn jobs_that_are_paced_differently_keep_their_own_distance() {
        let [slow, fast, finest] = [5_000, 100, 2].map(|period_ms| Rate { limit: 1, period_ms });
        let mut pace = Pace::none();
        pace.record(slow, 0);
        assert_eq!((pace.free(slow, 5_400), pace.free(fast, 5_400)), (1, 1));
        pace.record(slow, 5_400);
        assert_eq!((pace.free(fast, 5_489), pace.free(slow, 9_899)), (0, 0));
        assert_eq!((pace.free(fast, 5_500), pace.free(slow, 10_400)), (1, 1));
        while pace.free(finest, 6_000) > 0 {
            pace.record(finest, 6_000);
        }
        assert_eq!((pace.free(fast, 6_089), pace.free(fast, 6_100)), (0, 1));
    }
}
