//! The fields of a cron expression: their ranges, names and common syntax.

use std::fmt;

use super::bits::Bits;
use super::error::CronError;

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Clients may write `7` for Sunday, which is day 0 inside.
const SUNDAY_AS_SEVEN: u8 = 7;

/// A field of a calendar expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// 0 to 59; only in expressions with six fields.
    Second,
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31, or `L`, `LW` and `15W`.
    DayOfMonth,
    /// 1 to 12, or `JAN` to `DEC`.
    Month,
    /// 0 to 7 or `SUN` to `SAT`, or `5L` and `5#3`. Both 0 and 7 are Sunday.
    DayOfWeek,
}

impl Field {
    /// The allowed values, for error messages.
    pub fn allowed(self) -> &'static str {
        match self {
            Field::Second | Field::Minute => "0-59",
            Field::Hour => "0-23",
            Field::DayOfMonth => "1-31, L, LW, or a day with W such as 15W",
            Field::Month => "1-12 or JAN-DEC",
            Field::DayOfWeek => "0-7 or SUN-SAT, alone or as in 5L or 5#3",
        }
    }

    /// Number of different values, which is also the largest step.
    pub(super) fn size(self) -> u8 {
        let (first, last) = self.values();
        last - first + 1
    }

    /// Reads a list like `1,5-9,*/15`.
    pub(super) fn parse_list(self, text: &str) -> Result<Bits, CronError> {
        text.split(',').try_fold(Bits::default(), |set, item| Ok(set | self.parse_item(item)?))
    }

    /// Reads one item of a list: `*`, `5`, `1-5`, each of which may be followed by a step. `5/15`
    /// means from 5 to the end of the field in steps of 15.
    pub(super) fn parse_item(self, item: &str) -> Result<Bits, CronError> {
        if item.is_empty() {
            return Err(CronError::EmptyItem { field: self });
        }
        let (span, step) = match item.split_once('/') {
            Some((span, step)) => (span, Some(self.parse_step(item, step)?)),
            None => (item, None),
        };
        let (first, last) = if span == "*" {
            self.values()
        } else if let Some((first, last)) = span.split_once('-') {
            self.parse_range(item, first, last)?
        } else {
            let value = self.parse_value(item, span)?;
            let last = if step.is_some() { self.values().1.max(value) } else { value };
            (value, last)
        };
        let values = (first..=last).step_by(usize::from(step.unwrap_or(1)));
        Ok(values.map(|value| self.canonical(value)).collect())
    }

    /// Parses a single number or name; Sunday is 0. `item` is `value` with its suffix, for error
    /// messages.
    pub(super) fn parse_single(self, item: &str, value: &str) -> Result<u8, CronError> {
        Ok(self.canonical(self.parse_value(item, value)?))
    }

    fn parse_value(self, item: &str, value: &str) -> Result<u8, CronError> {
        let index = self.names().iter().position(|name| name.eq_ignore_ascii_case(value));
        if let Some(index) = index {
            return Ok(self.values().0 + index as u8);
        }
        if value.is_empty() || !value.bytes().all(|b| b.is_ascii_digit()) {
            return Err(CronError::Malformed { field: self, value: item.to_owned() });
        }
        let (min, max) = self.accepted();
        let number = value.parse().ok().filter(|number| (min..=max).contains(number));
        number.ok_or_else(|| CronError::OutOfRange { field: self, value: value.to_owned() })
    }

    fn parse_range(self, item: &str, first: &str, last: &str) -> Result<(u8, u8), CronError> {
        let (first, mut last) = (self.parse_value(item, first)?, self.parse_value(item, last)?);
        // A range may end with Sunday: FRI-SUN is Friday, Saturday and Sunday.
        if self == Field::DayOfWeek && last == 0 && first > 0 {
            last = SUNDAY_AS_SEVEN;
        }
        if first > last {
            return Err(CronError::ReversedRange { field: self, value: item.to_owned() });
        }
        Ok((first, last))
    }

    fn parse_step(self, item: &str, step: &str) -> Result<u8, CronError> {
        let digits_only = step.bytes().all(|b| b.is_ascii_digit());
        let step = step.parse().ok().filter(|step| digits_only && (1..=self.size()).contains(step));
        step.ok_or_else(|| CronError::InvalidStep { field: self, value: item.to_owned() })
    }

    fn canonical(self, value: u8) -> u8 {
        if self == Field::DayOfWeek && value == SUNDAY_AS_SEVEN { 0 } else { value }
    }

    /// The first and the last value that `*` includes.
    fn values(self) -> (u8, u8) {
        match self {
            Field::Second | Field::Minute => (0, 59),
            Field::Hour => (0, 23),
            Field::DayOfMonth => (1, 31),
            Field::Month => (1, 12),
            Field::DayOfWeek => (0, 6),
        }
    }

    /// The smallest and the largest number that clients may write.
    fn accepted(self) -> (u8, u8) {
        match self {
            Field::DayOfWeek => (0, SUNDAY_AS_SEVEN),
            _ => self.values(),
        }
    }

    fn names(self) -> &'static [&'static str] {
        match self {
            Field::Month => &MONTHS,
            Field::DayOfWeek => &WEEKDAYS,
            _ => &[],
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Field::Second => "second",
            Field::Minute => "minute",
            Field::Hour => "hour",
            Field::DayOfMonth => "day of month",
            Field::Month => "month",
            Field::DayOfWeek => "day of week",
        })
    }
}
