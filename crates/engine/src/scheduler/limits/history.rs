//! All starts of a key, for periods that are asked for later.

use std::collections::VecDeque;

/// Starts are merged when they are closer to each other than their age divided by this.
const PRECISION: i64 = 32;
/// Up to twice this many entries, nothing is merged.
const MERGE_ABOVE: usize = 64;

/// Recent starts are exact. Older ones are merged, at the time of the last of them, so that no window
/// counts too few. The number of entries grows with the logarithm of the time. Times are as in
/// [`super::Window`].
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    starts: VecDeque<(i64, u32)>,
    /// Number of entries after the last merge.
    merged_len: usize,
}

impl History {
    pub fn record(&mut self, at: i64, n: u32) {
        match self.starts.back_mut() {
            Some((last, count)) if *last >= at => *count = count.saturating_add(n),
            _ => self.starts.push_back((at, n)),
        }
        if self.starts.len() > 2 * self.merged_len.max(MERGE_ABOVE) {
            self.merge_old_starts(at);
        }
    }

    /// Removes a start, as [`super::Window::undo`] does.
    pub fn undo(&mut self, at: i64) {
        super::remove_start(&mut self.starts, at);
    }

    fn merge_old_starts(&mut self, now: i64) {
        let mut merged: VecDeque<(i64, u32)> = VecDeque::new();
        let mut first_at = i64::MIN;
        for (at, n) in std::mem::take(&mut self.starts) {
            match merged.back_mut() {
                Some(last) if at.saturating_sub(first_at) <= now.saturating_sub(at) / PRECISION => {
                    *last = (at, last.1.saturating_add(n));
                }
                _ => {
                    merged.push_back((at, n));
                    first_at = at;
                }
            }
        }
        self.merged_len = merged.len();
        self.starts = merged;
    }

    pub fn starts(&self) -> impl Iterator<Item = (i64, u32)> {
        self.starts.iter().copied()
    }

    pub fn last(&self) -> Option<i64> {
        self.starts.back().map(|&(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_window_counts_too_few_and_few_moments_are_kept() {
        let mut history = History::default();
        let starts: Vec<i64> = (0..100_000).map(|n| n * 37).collect();
        starts.iter().for_each(|at| history.record(*at, 1));
        let now = *starts.last().unwrap();
        for period in [50, 1_000, 10_000, 60_000, 3_600_000] {
            let counted = history.starts().filter(|(at, _)| at + period > now);
            let counted: i64 = counted.map(|(_, n)| i64::from(n)).sum();
            let happened = starts.iter().filter(|at| **at + period > now).count() as i64;
            assert!(counted >= happened, "{counted} of {happened} in {period}");
            assert!(
                counted <= happened + happened / 16 + 1,
                "{counted} for {happened} in {period}"
            );
        }
        assert!(history.starts.len() < 1_000, "{}", history.starts.len());
    }
}
