//! What a tenant did in the last minute and the last day.

use rota_model::Millis;
use serde::{Deserialize, Serialize};

use crate::meters::Lately;

const HOURS: usize = 24;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    pub enqueued: u32,
    pub started: u32,
    pub completed: u32,
    pub failed: u32,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.enqueued = self.enqueued.saturating_add(other.enqueued);
        self.started = self.started.saturating_add(other.started);
        self.completed = self.completed.saturating_add(other.completed);
        self.failed = self.failed.saturating_add(other.failed);
    }
}

/// Small enough for a hundred thousand tenants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counters {
    /// The number of the minute under way, counted from the epoch.
    minute: i64,
    current: Tally,
    previous: Tally,
    hour: i64,
    hours: [Tally; HOURS],
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            minute: 0,
            current: Tally::default(),
            previous: Tally::default(),
            hour: 0,
            hours: [Tally::default(); HOURS],
        }
    }
}

impl Counters {
    pub fn add(&mut self, tally: Tally, now: Millis) {
        self.roll(now);
        self.current.add(tally);
        self.hours[slot(self.hour)].add(tally);
    }

    /// The last day, to within the hour under way.
    pub fn day(&self, now: Millis) -> Tally {
        let hour = now.0.div_euclid(HOUR_MS);
        let gone = (hour - self.hour).clamp(0, HOURS as i64);
        let mut sum = Tally::default();
        // The oldest hours stand behind the one under way.
        for past in gone..HOURS as i64 {
            sum.add(self.hours[slot(self.hour - (past - gone))]);
        }
        sum
    }

    /// The last sixty seconds: the minute under way, and what the one before contributes to them.
    pub fn last_minute(&self, now: Millis) -> Tally {
        let (current, previous) = match now.0.div_euclid(MINUTE_MS) - self.minute {
            ..=0 => (self.current, self.previous),
            1 => (Tally::default(), self.current),
            _ => return Tally::default(),
        };
        let left = MINUTE_MS - now.0.rem_euclid(MINUTE_MS);
        let part = |n: u32| (i64::from(n) * left / MINUTE_MS) as u32;
        let mut sum = current;
        sum.add(Tally {
            enqueued: part(previous.enqueued),
            started: part(previous.started),
            completed: part(previous.completed),
            failed: part(previous.failed),
        });
        sum
    }

    /// Jobs handed out in this minute and the last.
    pub fn starts(&self) -> Lately {
        let Self { minute, current, previous, .. } = self;
        let (current, previous) = (u64::from(current.started), u64::from(previous.started));
        Lately { minute: *minute, current, previous }
    }

    fn roll(&mut self, now: Millis) {
        let (minute, hour) = (now.0.div_euclid(MINUTE_MS), now.0.div_euclid(HOUR_MS));
        if minute > self.minute {
            let next = minute == self.minute + 1;
            self.previous = if next { self.current } else { Tally::default() };
            (self.minute, self.current) = (minute, Tally::default());
        }
        if hour > self.hour {
            let first = (self.hour + 1).max(hour - HOURS as i64 + 1);
            (first..=hour).for_each(|past| self.hours[slot(past)] = Tally::default());
            self.hour = hour;
        }
    }
}

fn slot(hour: i64) -> usize {
    hour.rem_euclid(HOURS as i64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Tally {
        Tally { enqueued: 1, started: 1, completed: 1, failed: 0 }
    }

    #[test]
    fn a_day_slides_by_hours_and_a_minute_by_its_parts() {
        let mut counters = Counters::default();
        let start = Millis(1_770_000_000_000 - 1_770_000_000_000 % HOUR_MS);
        for hour in 0..30 {
            counters.add(one(), Millis(start.0 + hour * HOUR_MS));
        }
        let now = Millis(start.0 + 29 * HOUR_MS);
        assert_eq!(counters.day(now).enqueued, 24);
        assert_eq!(counters.day(Millis(now.0 + 5 * HOUR_MS)).enqueued, 19);
        assert_eq!(counters.day(Millis(now.0 + 50 * HOUR_MS)).enqueued, 0);
        for _ in 0..59 {
            counters.add(one(), now);
        }
        assert_eq!(counters.last_minute(now).started, 60);
        assert_eq!(counters.last_minute(Millis(now.0 + 90_000)).started, 30);
        assert_eq!(counters.last_minute(Millis(now.0 + 180_000)).started, 0);
    }
}
