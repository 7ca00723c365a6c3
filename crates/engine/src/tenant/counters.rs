//! A tenant's counts of the last minute and the last day.

use rota_model::Millis;
use rota_model::usage::{Usage, UsagePer};
use serde::{Deserialize, Serialize, Serializer};

use crate::exact_vec::push_exact;
use crate::meters::{LastMinute, Recent, Sum};

const HOURS: u32 = 24;
const HOUR_MS: i64 = 3_600_000;

/// Counts of one tenant. Stored as a list; objects of older versions can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub struct Tally {
    pub enqueued: u32,
    /// Claims that never reached their worker are subtracted.
    pub started: i32,
    pub completed: u32,
    pub failed: u32,
    /// Jobs that the tenant's own workers started and that do not count against its share.
    #[serde(default)]
    pub own: i32,
}

impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Tally { enqueued, started, completed, failed, own } = *self;
        (enqueued, started, completed, failed, own).serialize(serializer)
    }
}

impl Tally {
    /// Executions that ended, well or badly.
    #[must_use]
    pub fn processed(&self) -> u64 {
        u64::from(self.completed) + u64::from(self.failed)
    }

    /// Jobs that shared workers started.
    pub(crate) fn shared_starts(&self) -> i64 {
        i64::from(self.started) - i64::from(self.own)
    }
}

impl Sum for Tally {
    fn add(&mut self, other: Tally) {
        self.enqueued = self.enqueued.saturating_add(other.enqueued);
        self.started = self.started.saturating_add(other.started);
        self.completed = self.completed.saturating_add(other.completed);
        self.failed = self.failed.saturating_add(other.failed);
        self.own = self.own.saturating_add(other.own);
    }
}

/// A tenant's recent counts. Kept small for a hundred thousand tenants: most did nothing in the
/// last minute, and something in only a few hours of the day.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Counters {
    #[serde(default)]
    pub minute: LastMinute<Tally>,
    /// By hours since the epoch.
    #[serde(default)]
    day: Recent<Tally, HOURS>,
    /// Usage since the last flush, by start of the hour.
    #[serde(skip)]
    pub usage: Vec<(Millis, Usage)>,
    /// How often usage was written since the process began.
    #[serde(skip)]
    pub usage_writes: u32,
}

impl Counters {
    pub fn add(&mut self, tally: Tally, now: Millis) {
        if tally == Tally::default() {
            return;
        }
        self.minute.add(tally, now);
        self.day.add(hour_of(now), tally);
    }

    /// Adds to the unwritten usage, and returns the hour it belongs to.
    pub fn add_usage(&mut self, usage: &Usage, now: Millis) -> Millis {
        let hour = UsagePer::Hour.start_of(now);
        match self.usage.last_mut() {
            Some((last, sum)) if *last >= hour => sum.add(usage),
            _ => push_exact(&mut self.usage, (hour, *usage)),
        }
        hour
    }

    /// The sum over the current hour and the 23 before it.
    pub fn day(&self, now: Millis) -> Tally {
        self.day.sum(hour_of(now))
    }
}

fn hour_of(now: Millis) -> u32 {
    u32::try_from(now.0.div_euclid(HOUR_MS)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_slides_by_hours() {
        let tally = Tally { enqueued: 1, started: 1, completed: 1, ..Tally::default() };
        let mut counters = Counters::default();
        let start = Millis(1_770_000_000_000 - 1_770_000_000_000 % HOUR_MS);
        for hour in 0..30 {
            counters.add(tally, Millis(start.0 + hour * HOUR_MS));
        }
        let now = Millis(start.0 + 29 * HOUR_MS);
        assert_eq!(counters.day(now).enqueued, 24);
        assert_eq!(counters.day(Millis(now.0 + 5 * HOUR_MS)).enqueued, 19);
        assert_eq!(counters.day(Millis(now.0 + 50 * HOUR_MS)).enqueued, 0);
    }

    #[test]
    fn tallies_are_lists_and_objects_of_older_files_are_read() {
        let tally = Tally { enqueued: 5, started: 4, completed: 3, failed: 1, own: 2 };
        let list = serde_json::to_string(&tally).unwrap();
        assert_eq!(list, "[5,4,3,1,2]");
        let object = r#"{"enqueued":5,"started":4,"completed":3,"failed":1,"own":2}"#;
        for json in [&list, object] {
            assert_eq!(serde_json::from_str::<Tally>(json).unwrap(), tally);
        }
        let without_own = r#"{"enqueued":5,"started":4,"completed":3,"failed":1}"#;
        assert_eq!(serde_json::from_str::<Tally>(without_own).unwrap(), Tally { own: 0, ..tally });
    }
}
