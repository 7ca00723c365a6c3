//! Tests of cron schedules.

mod days;
mod dst;
mod occurrences;
mod oracle;
mod rejections;
mod zones;

use super::*;
use crate::time::Millis;

fn at(rfc3339: &str) -> Millis {
    Millis::parse_rfc3339(rfc3339).unwrap()
}

fn schedule(expression: &str, zone: &str) -> Schedule {
    Schedule::parse(expression, zone).unwrap_or_else(|error| panic!("{expression}: {error}"))
}

/// The next `count` occurrences after `after`, in UTC and without the seconds' decimals.
fn next(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let schedule = schedule(expression, zone);
    let occurrence = |after| Some(schedule.next_after(after, Millis::ZERO)?.at);
    std::iter::successors(occurrence(at(after)), |&last| occurrence(last))
        .take(count)
        .map(|time| time.to_string().replace(".000Z", "Z"))
        .collect()
}
