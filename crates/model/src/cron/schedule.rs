use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::calendar::{Calendar, second_after};
use super::error::CronError;
use super::expression::{Expression, Rule};
use super::zone::Zone;
use crate::time::Millis;

/// How many skipped times `Schedule::skipped_by_dst` reports at most: enough for a schedule of
/// every minute over the usual hour, without thousands for one of every second.
pub const MAX_DST_SKIPS: usize = 100;

/// A bound on the clock changes looked at in one call; half a century of two a year.
const MAX_TRANSITIONS: usize = 100;

/// No clock was ever set forward by more than this (Samoa dropped a whole day in 2011).
const LONGEST_GAP_MS: i64 = 24 * 60 * 60 * 1_000;

/// When a cron entry fires.
///
/// A local time that does not exist because clocks go forward is not fired, whatever the
/// expression; a local time that occurs twice because they go back fires once, the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Which local times match.
    pub expression: Expression,
    /// Whose local time the expression is about.
    pub zone: Zone,
}

/// One time at which a schedule fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// The instant, in UTC.
    pub at: Millis,
}

impl Schedule {
    /// Parses both parts of a schedule; an empty zone is an error, not UTC.
    pub fn parse(expression: &str, zone: &str) -> Result<Schedule, CronError> {
        Ok(Schedule { expression: Expression::parse(expression)?, zone: Zone::parse(zone)? })
    }

    /// The first occurrence strictly after `after`. `anchor`, the time of registration or of the
    /// last trigger, is what `@every` counts from: its occurrences are `anchor` and whole
    /// intervals after it.
    ///
    /// `None` when nothing matches in the 40 years that are searched, as for a time that only ever
    /// falls where clocks go forward, or when the answer is beyond the year 9999.
    pub fn next_after(&self, after: Millis, anchor: Millis) -> Option<Occurrence> {
        let at = match &self.expression.rule {
            Rule::Calendar(calendar) => next_match(calendar, &self.zone.rules, after),
            Rule::Every { interval_ms } => next_interval(*interval_ms, after, anchor),
        }?;
        (at <= Millis::MAX).then_some(Occurrence { at })
    }

    /// The occurrences after `from`, up to and including `to`, that fall on local times which do
    /// not exist: the first `MAX_DST_SKIPS` of them. Each is given as the instant it would have
    /// been, had the clocks not changed (02:30 as half an hour after the change at 02:00).
    pub fn skipped_by_dst(&self, from: Millis, to: Millis) -> Vec<Millis> {
        self.skips(from, to).take(MAX_DST_SKIPS).collect()
    }

    /// The first of them.
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
                .flat_map(move |change| matches_in_gap(calendar, rules, change))
                .filter(move |&at| at > from && at <= to)
        })
    }
}

fn next_match(calendar: &Calendar, rules: &TimeZone, after: Millis) -> Option<Millis> {
    let after = Timestamp::from_millisecond(after.0).ok()?;
    let start = second_after(rules.to_datetime(after))?;
    calendar
        .matches_from(start)
        .filter_map(|local| first_instant(rules, local))
        // Where clocks have just gone back, a local time ahead may have fired already.
        .find(|&at| at > after)
        .map(|at| Millis(at.as_millisecond()))
}

/// The instant at which clocks first show `local`, if they ever do.
fn first_instant(rules: &TimeZone, local: DateTime) -> Option<Timestamp> {
    let offset = match rules.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Fold { before, .. } => before,
        AmbiguousOffset::Gap { .. } => return None,
    };
    offset.to_timestamp(local).ok()
}

/// The matches among the local times that clocks leave out at `change`, if they go forward then.
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
        .map(|at| Millis(at.as_millisecond()))
}

fn next_interval(interval_ms: i64, after: Millis, anchor: Millis) -> Option<Millis> {
    if after < anchor {
        return Some(anchor);
    }
    let intervals = after.0.checked_sub(anchor.0)? / interval_ms + 1;
    Some(Millis(anchor.0.checked_add(intervals.checked_mul(interval_ms)?)?))
}
