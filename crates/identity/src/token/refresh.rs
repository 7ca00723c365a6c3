//! When a key set is read again: one read at a time, not too often, and when a token names an unknown key.

/// Reads begin at least this far apart, in milliseconds.
pub const MIN_GAP_MS: u64 = 10_000;

/// Decides when to read a key set. Times are monotonic, in milliseconds.
#[derive(Debug)]
pub struct Refresh {
    interval_ms: u64,
    last_start: Option<u64>,
    is_reading: bool,
}

/// What to do for a token with an unknown key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshDecision {
    /// Read the key set now, and look again.
    Start,
    /// Somebody is reading it; wait for that, and look again.
    Join,
    /// It was read a moment ago; the key stays unknown.
    TooSoon,
}

impl Refresh {
    #[must_use]
    pub fn new(interval_ms: u64) -> Self {
        Self { interval_ms: interval_ms.max(MIN_GAP_MS), last_start: None, is_reading: false }
    }

    /// A token names a key that is not in the set. If the answer is [`RefreshDecision::Start`], the read
    /// has begun.
    pub fn unknown_key(&mut self, now: u64) -> RefreshDecision {
        match self.is_reading {
            true => RefreshDecision::Join,
            false if self.since_start(now) < MIN_GAP_MS => RefreshDecision::TooSoon,
            false => self.start(now),
        }
    }

    /// Time passes. True if the set is to be read because it has become old; the read has then begun.
    pub fn is_due(&mut self, now: u64) -> bool {
        let due = !self.is_reading && self.since_start(now) >= self.interval_ms;
        due && self.start(now) == RefreshDecision::Start
    }

    /// The read has ended, with or without a new set.
    pub fn ended(&mut self) {
        self.is_reading = false;
    }

    fn start(&mut self, now: u64) -> RefreshDecision {
        (self.last_start, self.is_reading) = (Some(now), true);
        RefreshDecision::Start
    }

    fn since_start(&self, now: u64) -> u64 {
        self.last_start.map_or(u64::MAX, |start| now.saturating_sub(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_read_at_a_time() {
        let mut refresh = Refresh::new(300_000);
        assert!(refresh.is_due(0), "at the start there is nothing yet");
        assert!(!refresh.is_due(1_000_000));
        assert_eq!(refresh.unknown_key(1_000_000), RefreshDecision::Join);
        refresh.ended();
        assert_eq!(refresh.unknown_key(1_000_000), RefreshDecision::Start);
        assert_eq!(refresh.unknown_key(1_000_001), RefreshDecision::Join);
    }

    #[test]
    fn unknown_keys_cause_one_read_in_ten_seconds() {
        let mut refresh = Refresh::new(300_000);
        assert_eq!(refresh.unknown_key(5_000), RefreshDecision::Start);
        refresh.ended();
        for now in [5_000, 5_001, 14_999] {
            assert_eq!(refresh.unknown_key(now), RefreshDecision::TooSoon, "{now}");
        }
        assert_eq!(refresh.unknown_key(15_000), RefreshDecision::Start);
    }

    #[test]
    fn old_sets_are_read_again_even_after_a_failed_read() {
        let mut refresh = Refresh::new(300_000);
        assert!(refresh.is_due(0));
        refresh.ended();
        assert!(!refresh.is_due(299_999));
        assert!(refresh.is_due(300_000));
        refresh.ended();
        assert!(!refresh.is_due(300_001));
        // A short interval does not undercut the gap.
        let mut eager = Refresh::new(1);
        assert!(eager.is_due(0));
        eager.ended();
        assert!(!eager.is_due(9_999) && eager.is_due(10_000));
    }
}
