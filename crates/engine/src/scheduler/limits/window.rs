//! A sliding window: the number of starts in the last period, never too low.

use std::collections::VecDeque;

/// Limits up to this are counted by an exact log. Above it, starts within a grain are merged, at the
/// time of the last of them.
const EXACT: u32 = 1_024;
const GRAINS: i64 = 512;

/// Times are monotonic milliseconds, negative before the process started.
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

    /// Counts for this limit as well: a large limit makes the window coarser.
    pub fn admit(&mut self, limit: u32) {
        if limit > EXACT {
            self.grain = (self.period / GRAINS).max(1);
        }
    }

    /// Adds starts recorded before the window existed.
    pub fn copy(&mut self, starts: impl Iterator<Item = (i64, u32)>) {
        starts.for_each(|(at, n)| self.record(at, n));
    }

    /// Records `n` starts. A replayed start may seem older than the last one, if the wall clock was
    /// set back; it is recorded at the time of the last one.
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

    /// Removes a start that did not happen. A start merged with later ones stays counted, because it
    /// cannot be told apart from them.
    pub fn undo(&mut self, at: i64) {
        self.total -= u64::from(super::remove_start(&mut self.starts, at));
    }

    /// Drops starts that are older than the period.
    fn forget(&mut self, now: i64) {
        while let Some(&(at, n)) = self.starts.front()
            && at.saturating_add(self.period) <= now
        {
            self.starts.pop_front();
            self.total -= u64::from(n);
        }
    }

    pub fn count(&self, now: i64) -> u64 {
        self.count_within(self.period_ms(), now)
    }

    /// Starts in the last `period_ms`, which is not longer than the window's period.
    pub fn count_within(&self, period_ms: u64, now: i64) -> u64 {
        let past = self.starts.iter().take_while(|(at, _)| end(*at, period_ms) <= now);
        self.total - past.map(|&(_, n)| u64::from(n)).sum::<u64>()
    }

    /// When there is room for `n` more starts, if there are no others; `None` if never.
    pub fn opens_at(&self, limit: u32, n: u64) -> Option<i64> {
        self.opens_within(self.period_ms(), limit, n)
    }

    /// The same for a `period_ms` that is not longer than the window's period.
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

    /// Times and numbers of starts, oldest first.
    pub fn starts(&self) -> impl Iterator<Item = (i64, u32)> {
        self.starts.iter().copied()
    }

    pub fn is_exact(&self) -> bool {
        self.grain == 0
    }
}

/// When a start leaves the period.
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
