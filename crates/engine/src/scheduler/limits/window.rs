//! How many starts there were in the last period, never too few.

use std::collections::VecDeque;

/// Limits up to this are counted by an exact log; above, starts near each other are put together,
/// all at the time of the last of them.
const EXACT: u32 = 1_024;
const GRAINS: i64 = 512;

/// Times are monotonic milliseconds; before this process began they are negative.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    period: i64,
    grain: i64,
    starts: VecDeque<(i64, u32)>,
    total: u64,
}

impl Window {
    pub fn new(period_ms: u64, limit: u32) -> Self {
        let period = i64::try_from(period_ms).unwrap_or(i64::MAX / 4);
        let grain = if limit > EXACT { (period / GRAINS).max(1) } else { 0 };
        Self { period, grain, starts: VecDeque::new(), total: 0 }
    }

    pub fn period_ms(&self) -> u64 {
        self.period as u64
    }

    /// It serves this limit too.
    pub fn admit(&mut self, limit: u32) {
        if limit > EXACT {
            self.grain = (self.period / GRAINS).max(1);
        }
    }

    /// Starts that were counted elsewhere before this window was there.
    pub fn copy(&mut self, starts: impl Iterator<Item = (i64, u32)>) {
        starts.for_each(|(at, n)| self.record(at, n));
    }

    /// What was written down while the wall clock had been set back may seem to come before what is
    /// known already; it counts as long as that does.
    pub fn record(&mut self, at: i64, n: u32) {
        self.forget(at);
        self.total += u64::from(n);
        match self.starts.back_mut() {
            Some((last, count))
                if *last >= at || self.grain > 0 && *last / self.grain == at / self.grain =>
            {
                (*last, *count) = (at.max(*last), *count + n);
            }
            _ => self.starts.push_back((at, n)),
        }
    }

    /// A start at this moment did not happen. It stays counted where it was put together with later ones:
    /// then it cannot be notified from them.
    pub fn undo(&mut self, at: i64) {
        self.total -= u64::from(super::take_one_off(&mut self.starts, at));
    }

    /// What lies more than a period back counts no more.
    fn forget(&mut self, now: i64) {
        while let Some(&(at, n)) = self.starts.front()
            && at.saturating_add(self.period) <= now
        {
            self.starts.pop_front();
            self.total -= u64::from(n);
        }
    }

    /// Starts in the period that ends now.
    pub fn count(&self, now: i64) -> u64 {
        self.count_within(self.period_ms(), now)
    }

    /// The same for a period that is not longer than that of the window.
    pub fn count_within(&self, period_ms: u64, now: i64) -> u64 {
        let past = self.starts.iter().take_while(|(at, _)| end(*at, period_ms) <= now);
        self.total - past.map(|&(_, n)| u64::from(n)).sum::<u64>()
    }

    /// When there will be room for `n` more under this limit, if nothing starts meanwhile; `None`
    /// when there never will.
    pub fn opens_at(&self, limit: u32, n: u64) -> Option<i64> {
        self.opens_within(self.period_ms(), limit, n)
    }

    /// The same for a period that is not longer than that of the window.
    pub fn opens_within(&self, period_ms: u64, limit: u32, n: u64) -> Option<i64> {
        let room = u64::from(limit).checked_sub(n)?;
        let mut left = self.total;
        for &(at, count) in &self.starts {
            if left <= room {
                return Some(at);
            }
            left -= u64::from(count);
            if left <= room {
                return Some(end(at, period_ms));
            }
        }
        Some(i64::MIN)
    }

    /// What is in it, oldest first.
    pub fn starts(&self) -> impl Iterator<Item = (i64, u32)> {
        self.starts.iter().copied()
    }

    pub fn is_exact(&self) -> bool {
        self.grain == 0
    }
}

/// When a start leaves a period.
fn end(at: i64, period_ms: u64) -> i64 {
    at.saturating_add(i64::try_from(period_ms).unwrap_or(i64::MAX / 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_window_opens_a_period_after_its_oldest_start() {
        let mut window = Window::new(1_000, 3);
        for at in [0, 10, 20] {
            assert!(window.count(at) < 3);
            window.record(at, 1);
        }
        assert_eq!(window.count(999), 3);
        assert_eq!((window.opens_at(3, 1), window.opens_at(3, 2)), (Some(1_000), Some(1_010)));
        assert_eq!(window.opens_at(3, 4), None);
        assert_eq!(window.count(1_000), 2);
        assert_eq!(window.count(5_000), 0);
    }

    #[test]
    fn a_window_counts_for_shorter_periods() {
        let mut window = Window::new(60_000, 3);
        [0, 10_000, 20_000].into_iter().for_each(|at| window.record(at, 1));
        assert_eq!((window.count(20_500), window.count_within(15_000, 20_500)), (3, 2));
        assert_eq!(window.opens_within(15_000, 2, 1), Some(25_000));
    }

    #[test]
    fn starts_that_seem_to_go_back_keep_the_order() {
        let mut window = Window::new(1_000, 1);
        window.record(500, 1);
        window.record(100, 1);
        assert_eq!((window.count(1_200), window.opens_at(1, 1)), (2, Some(1_500)));
        assert_eq!(window.count(1_500), 0);
    }

    #[test]
    fn a_large_limit_is_held_in_every_window_and_used_nearly_whole() {
        let (limit, period) = (5_000, 60_000);
        let mut window = Window::new(period, limit);
        let mut starts: Vec<i64> = Vec::new();
        for now in 0..300_000 {
            for _ in 0..7 {
                if window.count(now) < u64::from(limit) {
                    window.record(now, 1);
                    starts.push(now);
                }
            }
        }
        let mut first = 0;
        for (i, at) in starts.iter().enumerate() {
            while starts[first] + period as i64 <= *at {
                first += 1;
            }
            assert!(i - first < limit as usize, "more than {limit} within a minute");
        }
        assert!(window.starts.len() <= 520);
        assert!(starts.len() as f64 >= 5.0 * f64::from(limit) * 0.99, "{}", starts.len());
    }
}
