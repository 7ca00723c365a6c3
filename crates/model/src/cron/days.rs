//! The day-of-month and day-of-week fields, and the days of a month that match them.
//!
//! When both fields are restricted, a day matches if either does; otherwise both must. As in
//! Vixie cron, a field that starts with `*` is not restricted, so `*/2` narrows the other field
//! instead of adding days to it.

use super::bits::Bits;
use super::error::CronError;
use super::field::Field;

const SUNDAY: u8 = 0;
const SATURDAY: u8 = 6;
const MAX_WEEKS: u8 = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Days {
    of_month: DayOfMonth,
    of_week: DayOfWeek,
}

impl Days {
    pub fn parse(of_month: &str, of_week: &str) -> Result<Days, CronError> {
        Ok(Days { of_month: DayOfMonth::parse(of_month)?, of_week: DayOfWeek::parse(of_week)? })
    }

    pub fn in_month(&self, month: MonthShape) -> Bits {
        let (by_number, by_weekday) = (self.of_month.in_month(month), self.of_week.in_month(month));
        if self.of_month.starred || self.of_week.starred {
            by_number & by_weekday
        } else {
            by_number | by_weekday
        }
    }
}

/// The properties of a month that the day fields depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct MonthShape {
    /// Number of days.
    pub length: u8,
    /// The weekday of the 1st, Sunday being 0.
    pub first_weekday: u8,
}

impl MonthShape {
    fn days(self) -> std::ops::RangeInclusive<u8> {
        1..=self.length
    }

    fn weekday(self, day: u8) -> u8 {
        (self.first_weekday + day - 1) % 7
    }

    /// The Monday-to-Friday day nearest to `day` without leaving the month.
    fn nearest_working_day(self, day: u8) -> u8 {
        match self.weekday(day) {
            SATURDAY if day == 1 => 3,
            SATURDAY => day - 1,
            SUNDAY if day == self.length => day - 2,
            SUNDAY => day + 1,
            _ => day,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct DayOfMonth {
    starred: bool,
    numbers: Bits,
    /// `15W`: a month without that day has no such weekday either.
    nearest_working: Bits,
    /// `L`
    last: bool,
    /// `LW`
    last_working: bool,
}

impl DayOfMonth {
    fn parse(text: &str) -> Result<DayOfMonth, CronError> {
        let mut days = DayOfMonth { starred: text.starts_with('*'), ..DayOfMonth::default() };
        for item in text.split(',') {
            if item.eq_ignore_ascii_case("L") {
                days.last = true;
            } else if item.eq_ignore_ascii_case("LW") {
                days.last_working = true;
            } else if let Some(number) = item.strip_suffix(['W', 'w']) {
                let number = Field::DayOfMonth.parse_single(item, number)?;
                days.nearest_working.insert(number);
            } else {
                days.numbers = days.numbers | Field::DayOfMonth.parse_item(item)?;
            }
        }
        Ok(days)
    }

    fn in_month(&self, month: MonthShape) -> Bits {
        let plain = month.days().filter(|&day| self.numbers.contains(day));
        let nearest = month
            .days()
            .filter(|&day| self.nearest_working.contains(day))
            .map(|day| month.nearest_working_day(day));
        let last = self.last.then_some(month.length);
        let last_working = self.last_working.then(|| month.nearest_working_day(month.length));
        plain.chain(nearest).chain(last).chain(last_working).collect()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct DayOfWeek {
    starred: bool,
    weekdays: Bits,
    /// `5L`
    last: Bits,
    /// `5#3`: the weekdays that match in the first, second, ... seven days of the month.
    nth: [Bits; MAX_WEEKS as usize],
}

impl DayOfWeek {
    fn parse(text: &str) -> Result<DayOfWeek, CronError> {
        let mut days = DayOfWeek { starred: text.starts_with('*'), ..DayOfWeek::default() };
        for item in text.split(',') {
            if let Some((weekday, nth)) = item.split_once('#') {
                let weekday = Field::DayOfWeek.parse_single(item, weekday)?;
                days.nth[parse_nth(item, nth)?].insert(weekday);
            } else if let Some(weekday) = item.strip_suffix(['L', 'l']) {
                days.last.insert(Field::DayOfWeek.parse_single(item, weekday)?);
            } else {
                days.weekdays = days.weekdays | Field::DayOfWeek.parse_item(item)?;
            }
        }
        Ok(days)
    }

    fn in_month(&self, month: MonthShape) -> Bits {
        let matches = |&day: &u8| {
            let weekday = month.weekday(day);
            self.weekdays.contains(weekday)
                || self.nth[usize::from((day - 1) / 7)].contains(weekday)
                || (day + 7 > month.length && self.last.contains(weekday))
        };
        month.days().filter(matches).collect()
    }
}

/// The index in `DayOfWeek::nth`.
fn parse_nth(item: &str, nth: &str) -> Result<usize, CronError> {
    match nth.as_bytes() {
        [digit @ b'1'..=b'5'] => Ok(usize::from(digit - b'1')),
        _ => Err(CronError::InvalidNth { field: Field::DayOfWeek, value: item.to_owned() }),
    }
}
