//! Starts that are evenly spaced.

use rota_model::Rate;

/// When the last start was due, in microseconds of monotonic time. A start that is only a little
/// late does not push the ones behind it back: lateness would add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    last_us: i64,
}

/// Below this distance several starts may share a moment, since nobody wakes up that often.
const FINEST_US: i64 = 10_000;
const BUNCH_US: i64 = 5_000;
/// Times are cut to the millisecond, so that much lateness says nothing.
const LATE_US: i64 = 1_000;

impl Pace {
    pub fn none() -> Self {
        Self { last_us: i64::MIN / 2 }
    }

    pub fn at(last_us: i64) -> Self {
        Self { last_us }
    }

    pub fn last_us(self) -> Option<i64> {
        (self.last_us > i64::MIN / 2).then_some(self.last_us)
    }

    /// When the next may start, in milliseconds.
    pub fn next_ms(self, rate: Rate) -> i64 {
        let next = self.last_us.saturating_add(rate.interval_us() as i64);
        next.saturating_add(999).div_euclid(1_000)
    }

    /// How many may start now.
    pub fn free(self, rate: Rate, now_ms: i64) -> u64 {
        let (now, interval) = (now_ms.saturating_mul(1_000), rate.interval_us() as i64);
        let next = self.last_us.saturating_add(interval);
        if next > now {
            return 0;
        }
        let late = (now - next).min(slack(interval));
        1 + (late / interval.max(1)) as u64
    }

    pub fn record(&mut self, rate: Rate, now_ms: i64) {
        let (now, interval) = (now_ms.saturating_mul(1_000), rate.interval_us() as i64);
        let next = self.last_us.saturating_add(interval);
        let slack = slack(interval);
        self.last_us = match now.saturating_sub(next) > slack {
            // The next keeps its whole distance from this one.
            true if interval >= FINEST_US => now,
            true => now.saturating_sub(slack),
            false => next,
        };
    }

    /// A start of a job that is not paced itself.
    pub fn note(&mut self, now_ms: i64) {
        self.last_us = self.last_us.max(now_ms.saturating_mul(1_000));
    }
}

/// How late a start may be without moving the ones behind it.
fn slack(interval_us: i64) -> i64 {
    if interval_us < FINEST_US { BUNCH_US } else { LATE_US }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts over a second, with the clock moving in steps of `step` milliseconds.
    fn starts(limit: u32, step: i64) -> Vec<i64> {
        let rate = Rate { limit, period_ms: 1_000 };
        let (mut pace, mut starts) = (Pace::none(), Vec::new());
        for now in (0..10_000).step_by(step as usize) {
            while pace.free(rate, now) > 0 {
                pace.record(rate, now);
                starts.push(now);
            }
        }
        starts
    }

    #[test]
    fn starts_keep_their_distance_and_the_rate_is_used() {
        for (limit, step) in [(1, 1), (3, 1), (10, 3), (60, 1), (90, 1)] {
            let starts = starts(limit, step);
            let least = 1_000 / i64::from(limit) - 1;
            assert!(starts.windows(2).all(|w| w[1] - w[0] >= least), "{limit}: {starts:?}");
            let (got, due) = (starts.len() as f64, 10.0 * f64::from(limit));
            assert!(got >= due * 0.98 && got <= due + 2.0, "{limit} by {step}: {got}");
        }
    }

    #[test]
    fn a_fast_pace_is_kept_although_the_clock_is_slow() {
        let got = starts(5_000, 3).len();
        assert!((49_000..=50_030).contains(&got), "{got}");
    }
}
