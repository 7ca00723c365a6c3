//! Starts that are evenly spaced.

use rota_model::Rate;

/// When the last start was due, in microseconds of monotonic time. A start that is only a little
/// late does not push the ones behind it back: lateness would add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// When the last start was due, which is not after it.
    last_us: i64,
    /// When it was.
    started_us: i64,
}

/// Below this distance several starts may share a moment, since nobody wakes up that often.
const FINEST_US: i64 = 10_000;
const BUNCH_US: i64 = 5_000;
/// Times are cut to the millisecond, so that much lateness says nothing.
const LATE_US: i64 = 1_000;

impl Pace {
    pub fn none() -> Self {
        Self { last_us: i64::MIN / 2, started_us: i64::MIN / 2 }
    }

    pub fn at(last_us: i64, started_us: i64) -> Self {
        Self { last_us, started_us: started_us.max(last_us) }
    }

    pub fn started_us(self) -> i64 {
        self.started_us
    }

    pub fn last_us(self) -> Option<i64> {
        (self.last_us > i64::MIN / 2).then_some(self.last_us)
    }

    /// When the next may start, in milliseconds.
    pub fn next_ms(self, rate: Rate) -> i64 {
        self.next_us(rate).saturating_add(999).div_euclid(1_000)
    }

    /// Jobs of one key may be paced differently: the lateness of a slow one must not bring a fast
    /// one too near to it.
    fn next_us(self, rate: Rate) -> i64 {
        let interval = rate.interval_us() as i64;
        let due = self.last_us.saturating_add(interval);
        let near = self.started_us.saturating_add(interval - slack(interval));
        if interval < FINEST_US { due } else { due.max(near) }
    }

    /// How many may start now.
    pub fn free(self, rate: Rate, now_ms: i64) -> u64 {
        let (now, interval) = (now_ms.saturating_mul(1_000), rate.interval_us() as i64);
        let next = self.next_us(rate);
        if next > now {
            return 0;
        }
        let late = (now - next).min(slack(interval));
        1 + (late / interval.max(1)) as u64
    }

    /// A start that is held by these.
    pub fn record(&mut self, rates: &[Rate], now_ms: i64) {
        let now = now_ms.saturating_mul(1_000);
        let was = self.last_us;
        for rate in rates {
            let interval = rate.interval_us() as i64;
            let (next, slack) = (was.saturating_add(interval), slack(interval));
            let due = match now.saturating_sub(next) > slack {
                // The next keeps its whole distance from this one.
                true if interval >= FINEST_US => now,
                true => now.saturating_sub(slack),
                false => next.min(now),
            };
            self.last_us = self.last_us.max(due);
        }
        self.started_us = self.started_us.max(now);
    }

    /// A start of a job that is not paced itself.
    pub fn note(&mut self, now_ms: i64) {
        let now = now_ms.saturating_mul(1_000);
        (self.last_us, self.started_us) = (self.last_us.max(now), self.started_us.max(now));
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
                pace.record(&[rate], now);
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
    fn jobs_that_are_paced_differently_keep_their_own_distance() {
        let [slow, fast] = [5_000, 100].map(|period_ms| Rate { limit: 1, period_ms });
        let mut pace = Pace::none();
        pace.record(&[slow], 0);
        assert_eq!((pace.free(slow, 5_400), pace.free(fast, 5_400)), (1, 1));
        pace.record(&[slow, fast], 5_400);
        assert_eq!((pace.free(fast, 5_489), pace.free(slow, 9_899)), (0, 0));
        assert_eq!((pace.free(fast, 5_500), pace.free(slow, 10_400)), (1, 1));
    }

    #[test]
    fn a_fast_pace_is_kept_although_the_clock_is_slow() {
        let got = starts(5_000, 3).len();
        assert!((49_000..=50_030).contains(&got), "{got}");
    }
}
