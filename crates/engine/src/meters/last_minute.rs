//! What happened in the last minute, to within five seconds.

use rota_model::Millis;
use serde::{Deserialize, Serialize};

pub(crate) const SLOT_MS: i64 = 5_000;
/// The slot under way and the twelve before it: all of the last 60 s, and nothing older than 65 s.
pub(crate) const SLOTS: u32 = 13;

/// Counts that can be added up.
pub(crate) trait Sum: Default + Copy {
    fn add(&mut self, other: Self);
}

impl Sum for i64 {
    fn add(&mut self, other: Self) {
        *self += other;
    }
}

/// Counts by slots of five seconds. Only slots in which something happened take memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LastMinute<T>(Vec<(u32, T)>);

impl<T: Sum> LastMinute<T> {
    pub fn add(&mut self, counts: T, now: Millis) {
        self.add_to(slot_of(now), counts);
    }

    /// Those of the last 60 s, and of at most 5 s before.
    pub fn sum(&self, now: Millis) -> T {
        let (mut sum, now) = (T::default(), slot_of(now));
        let slots = self.0.iter().filter(|(slot, _)| slot + SLOTS > now);
        slots.for_each(|(_, counts)| sum.add(*counts));
        sum
    }

    /// Forgets what is older than the last minute; the memory too, if nothing is left.
    pub fn trim(&mut self, now: Millis) {
        let now = slot_of(now);
        self.0.retain(|(slot, _)| slot + SLOTS > now);
        if self.0.is_empty() {
            self.0 = Vec::new();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// By slot, the oldest first.
    pub fn slots(&self) -> impl Iterator<Item = (u32, T)> {
        self.0.iter().copied()
    }

    pub fn add_to(&mut self, slot: u32, counts: T) {
        match self.0.last_mut() {
            Some((last, sum)) if *last == slot => sum.add(counts),
            Some((last, _)) if *last > slot => match self.0.binary_search_by_key(&slot, |s| s.0) {
                Ok(index) => self.0[index].1.add(counts),
                Err(index) => self.0.insert(index, (slot, counts)),
            },
            _ => {
                if self.0.len() >= SLOTS as usize {
                    self.0.retain(|(past, _)| past + SLOTS > slot);
                }
                self.0.push((slot, counts));
            }
        }
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
            assert!(starts.0.len() <= SLOTS as usize + 1);
        }
    }

    #[test]
    fn slots_may_be_added_in_any_order_and_give_their_memory_back() {
        let mut starts = LastMinute::default();
        let first = slot_of(Millis(START));
        for slot in [first + 3, first + 1, first + 2, first + 1] {
            starts.add_to(slot, 1i64);
        }
        assert_eq!(starts.0, [(first + 1, 2), (first + 2, 1), (first + 3, 1)]);
        starts.trim(Millis(START + 70_000));
        assert_eq!(starts.0, [(first + 2, 1), (first + 3, 1)]);
        starts.trim(Millis(START + 90_000));
        assert!(starts.is_empty() && starts.0.capacity() == 0);
    }
}
