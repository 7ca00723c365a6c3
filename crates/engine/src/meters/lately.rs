//! How often something happened in the last minute.

use rota_model::Millis;

const MINUTE_MS: i64 = 60_000;

/// The minute under way, by its number since the epoch, and the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lately {
    pub minute: i64,
    pub current: u64,
    pub previous: u64,
}

impl Lately {
    pub fn add(&mut self, now: Millis) {
        self.roll(now.0.div_euclid(MINUTE_MS));
        self.current += 1;
    }

    pub fn merge(&mut self, mut other: Lately) {
        let minute = self.minute.max(other.minute);
        self.roll(minute);
        other.roll(minute);
        self.current += other.current;
        self.previous += other.previous;
    }

    /// The last sixty seconds: the minute under way, and what the one before contributes to them.
    pub fn of(mut self, now: Millis) -> u64 {
        self.roll(now.0.div_euclid(MINUTE_MS));
        let left = (MINUTE_MS - now.0.rem_euclid(MINUTE_MS)) as u64;
        self.current + self.previous * left / MINUTE_MS as u64
    }

    fn roll(&mut self, minute: i64) {
        if minute > self.minute {
            let last = if self.minute + 1 == minute { self.current } else { 0 };
            *self = Self { minute, current: 0, previous: last };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_slides_by_its_parts() {
        let mut lately = Lately::default();
        let now = Millis(1_770_000_000_000 - 1_770_000_000_000 % MINUTE_MS);
        (0..60).for_each(|_| lately.add(now));
        let after = |ms| lately.of(Millis(now.0 + ms));
        assert_eq!([0, 59_999, 90_000, 120_000].map(after), [60, 60, 30, 0]);
        let mut both = Lately::default();
        both.add(Millis(now.0 + MINUTE_MS));
        both.merge(lately);
        assert_eq!(both, Lately { minute: both.minute, current: 1, previous: 60 });
    }
}
