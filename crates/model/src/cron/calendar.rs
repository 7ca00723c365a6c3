//! Finding the local times that match the fields of an expression.

use jiff::civil::{Date, DateTime};

use super::bits::Bits;
use super::days::{Days, MonthShape};
use super::error::CronError;
use super::field::Field;

/// How far ahead to search. The matches of a year depend on its first weekday and on whether it is a
/// leap year, so there are fourteen kinds of year. The longest gap is between two 29 Februaries on
/// the same weekday: 40 years, if a century without a leap year is in between.
const SEARCH_YEARS: i16 = 40;

/// 28 years without such a century, which include all fourteen kinds of year.
const ALL_KINDS_OF_YEAR: std::ops::RangeInclusive<i16> = 2001..=2028;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Calendar {
    seconds: Bits,
    minutes: Bits,
    hours: Bits,
    days: Days,
    months: Bits,
}

impl Calendar {
    pub fn parse(text: &str) -> Result<Calendar, CronError> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let (second, rest) = match fields.as_slice() {
            [] => return Err(CronError::Empty),
            rest @ [_, _, _, _, _] => ("0", rest),
            [second, rest @ ..] if rest.len() == 5 => (*second, rest),
            _ => {
                return Err(CronError::FieldCount { count: fields.len() });
            }
        };
        let calendar = Calendar {
            seconds: Field::Second.parse_list(second)?,
            minutes: Field::Minute.parse_list(rest[0])?,
            hours: Field::Hour.parse_list(rest[1])?,
            days: Days::parse(rest[2], rest[4])?,
            months: Field::Month.parse_list(rest[3])?,
        };
        if calendar.ever_matches() {
            Ok(calendar)
        } else {
            Err(CronError::NeverMatches(text.to_owned()))
        }
    }

    /// The matches at or after `start`, in order, within `SEARCH_YEARS`.
    pub fn matches_from(&self, start: DateTime) -> impl Iterator<Item = DateTime> + '_ {
        self.matches_until(start, start.year().saturating_add(SEARCH_YEARS))
    }

    /// The matches at or after `start` and before `end`, in order.
    pub fn matches_between(
        &self,
        start: DateTime,
        end: DateTime,
    ) -> impl Iterator<Item = DateTime> + '_ {
        self.matches_until(start, end.year()).take_while(move |found| *found < end)
    }

    fn matches_until(
        &self,
        start: DateTime,
        last_year: i16,
    ) -> impl Iterator<Item = DateTime> + '_ {
        let mut floor = Some(start);
        std::iter::from_fn(move || {
            let found = self.first_from(floor?, last_year)?;
            floor = second_after(found);
            Some(found)
        })
    }

    fn first_from(&self, start: DateTime, last_year: i16) -> Option<DateTime> {
        if self.days_of(start.year(), start.month())?.contains(start.day() as u8)
            && let Some(time) = self.time_from(start)
        {
            return Some(time);
        }
        let day = self.day_from(start.date().tomorrow().ok()?, last_year)?;
        self.time_from(day.at(0, 0, 0, 0))
    }

    fn day_from(&self, start: Date, last_year: i16) -> Option<Date> {
        let (mut year, mut month, mut floor) = (start.year(), start.month(), start.day());
        while year <= last_year {
            if let Some(day) = self.days_of(year, month)?.first_from(floor as u8) {
                return Date::new(year, month, day as i8).ok();
            }
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            floor = 1;
        }
        None
    }

    /// The first match at or after `start` on the same day, ignoring the day fields.
    fn time_from(&self, start: DateTime) -> Option<DateTime> {
        let (hour, minute, second) =
            (start.hour() as u8, start.minute() as u8, start.second() as u8);
        let (hour, minute, second) = self
            .seconds_within(hour, minute, second)
            .or_else(|| self.minutes_within(hour, minute + 1))
            .or_else(|| self.minutes_within(self.hours.first_from(hour + 1)?, 0))?;
        Some(start.date().at(hour as i8, minute as i8, second as i8, 0))
    }

    fn seconds_within(&self, hour: u8, minute: u8, floor: u8) -> Option<(u8, u8, u8)> {
        if !self.hours.contains(hour) || !self.minutes.contains(minute) {
            return None;
        }
        Some((hour, minute, self.seconds.first_from(floor)?))
    }

    fn minutes_within(&self, hour: u8, floor: u8) -> Option<(u8, u8, u8)> {
        if !self.hours.contains(hour) {
            return None;
        }
        Some((hour, self.minutes.first_from(floor)?, self.seconds.first()?))
    }

    fn ever_matches(&self) -> bool {
        ALL_KINDS_OF_YEAR
            .flat_map(|year| (1..=12).map(move |month| (year, month)))
            .any(|(year, month)| self.days_of(year, month).is_some_and(|days| !days.is_empty()))
    }

    /// The matching days of a month; `None` if the month is out of jiff's range.
    fn days_of(&self, year: i16, month: i8) -> Option<Bits> {
        if !self.months.contains(month as u8) {
            return Some(Bits::default());
        }
        let first = Date::new(year, month, 1).ok()?;
        Some(self.days.in_month(MonthShape {
            length: first.days_in_month() as u8,
            first_weekday: first.weekday().to_sunday_zero_offset() as u8,
        }))
    }
}

/// The next whole second: the earliest possible match after `time`.
pub(super) fn second_after(time: DateTime) -> Option<DateTime> {
    let whole = time.with().subsec_nanosecond(0).build().ok()?;
    whole.checked_add(jiff::SignedDuration::from_secs(1)).ok()
}
