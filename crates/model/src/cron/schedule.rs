//! Schedules: finding the next occurrence of an expression in a time zone.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::calendar::{Calendar, second_after};
use super::error::CronError;
use super::expression::{Expression, Rule};
use super::zone::Zone;
use crate::time::Millis;

/// Maximum number of clock changes examined in one call: two per year for half a century.
const MAX_TRANSITIONS: usize = 100;

/// The longest gap in any zone: Samoa skipped a whole day in 2011.
const LONGEST_GAP_MS: i64 = 24 * 60 * 60 * 1_000;

/// A cron expression in a time zone.
///
/// A local time that does not exist, because clocks go forward, does not fire. A local time that occurs
/// twice, because they go back, fires the first time only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The local times that match.
    pub expression: Expression,
    /// The time zone of those times.
    pub zone: Zone,
}

/// One time at which a schedule fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// The time in UTC.
    pub at: Millis,
}

impl Schedule {
    /// Parses both parts of a schedule; an empty zone is an error, not UTC.
    pub fn parse(expression: &str, zone: &str) -> Result<Schedule, CronError> {
        Ok(Schedule { expression: Expression::parse(expression)?, zone: Zone::parse(zone)? })
    }

    /// The first occurrence strictly after `after`. `@every` fires at `anchor` and at whole intervals
    /// after it; the anchor is the time of registration or of the last trigger.
    ///
    /// Returns `None` if nothing matches within 40 years, such as a time that clocks always skip, or
    /// if the occurrence is after the year 9999.
    pub fn next_after(&self, after: Millis, anchor: Millis) -> Option<Occurrence> {
        let at = match &self.expression.rule {
            Rule::Calendar(calendar) => next_match(calendar, &self.zone.rules, after),
            Rule::Every { interval_ms } => next_interval(*interval_ms, after, anchor),
        }?;
        (at <= Millis::MAX).then_some(Occurrence { at })
    }

    /// The matches after `from`, up to and including `to`, whose local time does not exist; only the
    /// first of each gap, which may have thousands. Each is returned as the time it would be if the
    /// clocks had not changed: for a change at 02:00, the match 02:30 is half an hour after the change.
    pub fn skipped_by_dst(&self, from: Millis, to: Millis) -> Vec<Millis> {
        self.skips(from, to).collect()
    }

    /// The first skipped match after `from`, up to and including `to`.
    pub fn next_skip(&self, from: Millis, to: Millis) -> Option<Millis> {
        self.skips(from, to).next()
    }

    fn skips(&self, from: Millis, to: Millis) -> impl Iterator<Item = Millis> {
        let calendar = match &self.expression.rule {
            Rule::Calendar(calendar) => Some(calendar),
            Rule::Every { .. } => None,
        };
        let earliest = Timestamp::from_millisecond(from.0.saturating_sub(LONGEST_GAP_MS)).ok();
        let rules = &self.zone.rules;
        calendar.zip(earliest).into_iter().flat_map(move |(calendar, earliest)| {
            rules
                .following(earliest)
                .map(|transition| transition.timestamp())
                .take_while(move |change| change.as_millisecond() <= to.0)
                .take(MAX_TRANSITIONS)
                .filter_map(move |change| matches_in_gap(calendar, rules, change).next())
                .filter(move |&time| time > from && time <= to)
        })
    }
}

fn next_match(calendar: &Calendar, rules: &TimeZone, after: Millis) -> Option<Millis> {
    let after = Timestamp::from_millisecond(after.0).ok()?;
    let start = second_after(rules.to_datetime(after))?;
    calendar
        .matches_from(start)
        .filter_map(|local| first_instant(rules, local))
        // After clocks have gone back, a later local time may have fired already.
        .find(|&time| time > after)
        .map(|time| Millis(time.as_millisecond()))
}

/// The first time at which clocks show `local`; `None` if they skip it.
fn first_instant(rules: &TimeZone, local: DateTime) -> Option<Timestamp> {
    let offset = match rules.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Fold { before, .. } => before,
        AmbiguousOffset::Gap { .. } => return None,
    };
    offset.to_timestamp(local).ok()
}

/// The matches among the local times that clocks skip at `change`.
fn matches_in_gap<'a>(
    calendar: &'a Calendar,
    rules: &TimeZone,
    change: Timestamp,
) -> impl Iterator<Item = Millis> + 'a {
    let just_before = change.checked_sub(jiff::SignedDuration::from_secs(1)).unwrap_or(change);
    let old_offset = rules.to_offset(just_before);
    let (gap_start, gap_end) = (old_offset.to_datetime(change), rules.to_datetime(change));
    calendar
        .matches_between(gap_start, gap_end)
        .filter_map(move |local| old_offset.to_timestamp(local).ok())
        .map(|time| Millis(time.as_millisecond()))
}

fn next_interval(interval_ms: i64, after: Millis, anchor: Millis) -> Option<Millis> {
    if after < anchor {
        return Some(anchor);
    }
    let intervals = after.0.checked_sub(anchor.0)? / interval_ms + 1;
    Some(Millis(anchor.0.checked_add(intervals.checked_mul(interval_ms)?)?))
}
