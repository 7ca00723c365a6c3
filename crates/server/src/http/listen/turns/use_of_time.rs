//! How much of the threads' time a line uses, and whether that is too much beside others.

use std::sync::atomic::{AtomicU64, Ordering};

/// Time is added up over windows of this length, in milliseconds.
const WINDOW_MS: u64 = 20;
/// A line is heavy that uses more than this much of a window, in microseconds.
const HEAVY: u64 = 4_000;

/// The time used in the current window and in the one before, in microseconds. Threads that meet at the end
/// of a window may count a moment in the wrong one.
#[derive(Default)]
pub(super) struct UseOfTime {
    window: AtomicU64,
    current: AtomicU64,
    last: AtomicU64,
}

impl UseOfTime {
    /// Adds what was used at `now`, in milliseconds. Returns true if a window has ended.
    pub fn add(&self, now: u64, used: u64) -> bool {
        let window = now / WINDOW_MS;
        let before = self.window.swap(window, Ordering::Relaxed);
        if before != window {
            let ended = self.current.swap(0, Ordering::Relaxed);
            self.last.store(if before + 1 == window { ended } else { 0 }, Ordering::Relaxed);
        }
        self.current.fetch_add(used, Ordering::Relaxed);
        before != window
    }

    /// Whether a line with this use is heavy beside `all`: one that takes up much time, and most of what all
    /// take up together. Once it is, it stays so until it uses much less.
    pub fn is_heavy_beside(&self, all: &Self, was_heavy: bool) -> bool {
        let own = self.last.load(Ordering::Relaxed);
        let all = all.last.load(Ordering::Relaxed);
        match was_heavy {
            false => own > HEAVY && own > all / 2,
            true => own > HEAVY / 4 && own > all / 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(own: u64, others: u64) -> [UseOfTime; 2] {
        let [line, all] = [UseOfTime::default(), UseOfTime::default()];
        for now in [WINDOW_MS, 2 * WINDOW_MS - 1] {
            line.add(now, own / 2);
            all.add(now, (own + others) / 2);
        }
        for (use_of_time, end) in [(&line, 2 * WINDOW_MS), (&all, 2 * WINDOW_MS)] {
            assert!(use_of_time.add(end, 0), "the window has ended");
        }
        [line, all]
    }

    #[test]
    fn a_line_that_takes_up_most_of_the_time_is_heavy() {
        let is_heavy = |own, others, was_heavy| {
            let [line, all] = used(own, others);
            line.is_heavy_beside(&all, was_heavy)
        };
        assert!(is_heavy(2 * HEAVY, HEAVY, false));
        assert!(!is_heavy(2 * HEAVY, 3 * HEAVY, false), "others use more");
        assert!(!is_heavy(HEAVY / 2, 0, false), "it is not much");
        assert!(is_heavy(HEAVY / 2, 0, true), "it stays heavy");
        assert!(!is_heavy(HEAVY / 8, 0, true));
    }

    #[test]
    fn what_was_used_long_ago_does_not_count() {
        let [line, all] = used(2 * HEAVY, 0);
        assert!(line.add(10 * WINDOW_MS, 0));
        assert!(!line.is_heavy_beside(&all, true));
    }
}
