//! What a tenant did in the last minute and the last day.

use rota_model::Millis;
use serde::{Deserialize, Serialize};

use crate::meters::Lately;

const HOURS: u32 = 24;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    pub enqueued: u32,
    pub started: u32,
    pub completed: u32,
    pub failed: u32,
    /// Those of the started that its own workers took, and that do not count against its share.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own: u32,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.enqueued = self.enqueued.saturating_add(other.enqueued);
        self.started = self.started.saturating_add(other.started);
        self.completed = self.completed.saturating_add(other.completed);
        self.failed = self.failed.saturating_add(other.failed);
        self.own = self.own.saturating_add(other.own);
    }
}

/// Small enough for a hundred thousand tenants: most of them did something in few hours of the day.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Counters {
    /// The number of the minute under way, counted from the epoch.
    minute: i64,
    current: Tally,
    previous: Tally,
    /// The hours of the last day in which it did something, the latest last.
    #[serde(default)]
    day: Vec<Hour>,
}

/// The number of an hour, counted from the epoch, and what was done in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Hour(u32, Tally);

impl Counters {
    pub fn add(&mut self, tally: Tally, now: Millis) {
        self.roll(now);
        self.current.add(tally);
        let hour = hour_of(now);
        match self.day.last_mut() {
            Some(last) if last.0 >= hour => last.1.add(tally),
            _ => {
                self.day.retain(|past| past.0 + HOURS > hour);
                self.day.reserve_exact(1);
                self.day.push(Hour(hour, tally));
            }
        }
    }

    /// The last day, to within the hour under way.
    pub fn day(&self, now: Millis) -> Tally {
        let mut sum = Tally::default();
        let hours = self.day.iter().filter(|past| past.0 + HOURS > hour_of(now));
        hours.for_each(|past| sum.add(past.1));
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
            own: part(previous.own),
        });
        sum
    }

    /// Jobs handed out to shared workers in this minute and the last.
    pub fn starts(&self) -> Lately {
        let Self { minute, current, previous, .. } = self;
        let shared = |tally: &Tally| u64::from(tally.started - tally.own.min(tally.started));
        let (current, previous) = (shared(current), shared(previous));
        Lately { minute: *minute, current, previous }
    }

    fn roll(&mut self, now: Millis) {
        let minute = now.0.div_euclid(MINUTE_MS);
        if minute > self.minute {
            let next = minute == self.minute + 1;
            self.previous = if next { self.current } else { Tally::default() };
            (self.minute, self.current) = (minute, Tally::default());
        }
    }
}

fn hour_of(now: Millis) -> u32 {
    u32::try_from(now.0.div_euclid(HOUR_MS)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Tally {
        Tally { enqueued: 1, started: 1, completed: 1, failed: 0, own: 0 }
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
