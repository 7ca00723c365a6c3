//! Counts of the last minute, to within five seconds.

use rota_model::Millis;
use serde::{Deserialize, Serialize};

use super::recent::{Recent, Sum};

pub(crate) const SLOT_MS: i64 = 5_000;
/// The current slot and the twelve before it: all of the last 60 s, and nothing older than 65 s.
pub(crate) const SLOTS: u32 = 13;

/// Counts by slots of five seconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Sum + Serialize", deserialize = "T: Sum + Deserialize<'de>"))]
pub(crate) struct LastMinute<T>(Recent<T, SLOTS>);

impl<T: Sum> LastMinute<T> {
    pub fn add(&mut self, counts: T, now: Millis) {
        self.0.add(slot_of(now), counts);
    }

    pub fn add_to(&mut self, slot: u32, counts: T) {
        self.0.add(slot, counts);
    }

    /// The sum over the last 60 s, and at most 5 s before that.
    pub fn sum(&self, now: Millis) -> T {
        self.0.sum(slot_of(now))
    }

    /// Drops older slots, and frees the memory if none is left.
    pub fn trim(&mut self, now: Millis) {
        self.0.trim(slot_of(now));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Slots and their counts, oldest first.
    pub fn slots(&self) -> impl Iterator<Item = (u32, T)> {
        self.0.slots()
    }
}

/// The number of the slot, counted from the epoch.
pub(crate) fn slot_of(now: Millis) -> u32 {
    u32::try_from(now.0.div_euclid(SLOT_MS)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_770_000_000_000;

    #[test]
    fn counts_stay_for_a_minute_and_are_gone_five_seconds_later() {
        let mut starts = LastMinute::default();
        (0..60).for_each(|_| starts.add(1i64, Millis(START)));
        let after = |ms| starts.sum(Millis(START + ms));
        assert_eq!([0, 30_000, 55_000, 60_000, 65_000, 120_000].map(after), [60, 60, 60, 60, 0, 0]);
    }

    #[test]
    fn the_sum_is_exact_to_five_seconds_at_any_time() {
        let (mut starts, mut times, mut now) = (LastMinute::default(), Vec::new(), START);
        for n in 0..2_000i64 {
            now += n * n % 900;
            starts.add(1i64, Millis(now));
            times.push(now);
            let within = |ms| times.iter().filter(|at| **at > now - ms).count() as i64;
            let sum = starts.sum(Millis(now));
            assert!((within(60_000)..=within(65_000)).contains(&sum), "{sum} at {now}");
        }
    }
}
