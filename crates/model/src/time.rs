//! Points in time: wall-clock milliseconds, formatted as RFC 3339 in UTC.
//!
//! Formatting and parsing are hand-written, because every request does both: jiff takes a third longer
//! to format and twice as long to parse. It also accepts timestamps that are not RFC 3339, such
//! as `2026-02-12 10:30Z`.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::duration::{self, DurationError};

#[cfg(test)]
mod tests;

const SECOND_MS: i64 = 1_000;
const DAY_MS: i64 = 86_400_000;
const RFC3339_LEN: usize = "2026-02-12T10:30:00.000Z".len();

/// Wall-clock milliseconds since the Unix epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// The Unix epoch.
    pub const ZERO: Millis = Millis(0);
    /// `9999-12-31T23:59:59.999Z`, the last instant that RFC 3339 can write.
    pub const MAX: Millis = Millis(253_402_300_799_999);

    /// Adds milliseconds, saturating at the numeric bounds.
    pub const fn saturating_add_ms(self, ms: i64) -> Millis {
        Millis(self.0.saturating_add(ms))
    }

    /// Subtracts milliseconds, saturating at the numeric bounds.
    pub const fn saturating_sub_ms(self, ms: i64) -> Millis {
        Millis(self.0.saturating_sub(ms))
    }

    /// Milliseconds from `earlier` to `self`; negative if `earlier` is later.
    pub const fn since(self, earlier: Millis) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Appends `2026-02-12T10:30:00.000Z`. Instants outside the years 1970 to 9999 are clamped.
    pub fn write_rfc3339(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_rfc3339());
    }

    /// Parses a strict RFC 3339 timestamp. Seconds and an offset are required, and fractions are
    /// truncated to milliseconds. A leap second (`:60`) is out of range, because Unix time cannot
    /// represent it.
    pub fn parse_rfc3339(text: &str) -> Result<Millis, TimeError> {
        read_timestamp(text.as_bytes()).map_err(TimeError::Timestamp)
    }

    fn to_rfc3339(self) -> [u8; RFC3339_LEN] {
        let clamped = self.0.clamp(0, Self::MAX.0);
        let (year, month, day) = civil_from_days((clamped / DAY_MS) as u32);
        let in_day = (clamped % DAY_MS) as u32;
        let (seconds, millis) = (in_day / 1_000, in_day % 1_000);

        let mut text = *b"0000-00-00T00:00:00.000Z";
        put_two_digits(&mut text, 0, year / 100);
        put_two_digits(&mut text, 2, year % 100);
        put_two_digits(&mut text, 5, month);
        put_two_digits(&mut text, 8, day);
        put_two_digits(&mut text, 11, seconds / 3_600);
        put_two_digits(&mut text, 14, seconds / 60 % 60);
        put_two_digits(&mut text, 17, seconds % 60);
        put_two_digits(&mut text, 20, millis / 10);
        text[22] = b'0' + (millis % 10) as u8;
        text
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.to_rfc3339();
        f.pad(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

/// The time at which a request is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Present {
    /// The server's time.
    pub now: Millis,
    /// By how much it is ahead of the wall clock.
    pub ahead_ms: u64,
}

impl Present {
    /// The server's time when the wall clock will show this.
    #[must_use]
    pub fn server_time(self, wall_clock: Millis) -> Millis {
        let ahead_ms = i64::try_from(self.ahead_ms).unwrap_or(i64::MAX);
        wall_clock.saturating_add_ms(ahead_ms).min(Millis::MAX)
    }
}

impl From<Millis> for Present {
    fn from(now: Millis) -> Self {
        Self { now, ahead_ms: 0 }
    }
}

/// A point in time as given by a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    /// The server's time then.
    pub at: Millis,
    /// The timestamp that the client gave; `None` if it gave a time relative to now.
    pub given: Option<Millis>,
}

/// Parses an RFC 3339 timestamp, which refers to the wall clock, or a time relative to now such as `+PT2S`.
pub fn parse_when(text: &str, present: Present) -> Result<When, TimeError> {
    let Some(distance) = text.strip_prefix('+') else {
        let given = read_timestamp(text.as_bytes()).map_err(TimeError::When)?;
        return Ok(When { at: present.server_time(given), given: Some(given) });
    };
    let distance = duration::parse_iso8601(distance).map_err(TimeError::Relative)?;
    let at = present.now.saturating_add_ms(distance);
    if at > Millis::MAX {
        return Err(TimeError::When(TimestampFault::TooLate));
    }
    Ok(When { at, given: None })
}

/// Why a time is invalid. The message completes a sentence that begins with the field's name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TimeError {
    /// Invalid, where only a timestamp is allowed.
    #[error(
        "{0}; expected an RFC 3339 timestamp with an offset, such as \"2026-02-12T10:30:00.000Z\""
    )]
    Timestamp(TimestampFault),
    /// Invalid timestamp, where a relative time is allowed, too.
    #[error(
        "{0}; expected an RFC 3339 timestamp with an offset, such as \"2026-02-12T10:30:00.000Z\", \
         or a distance from now, such as \"+PT2S\""
    )]
    When(TimestampFault),
    /// A relative time with an invalid duration.
    #[error("is no distance from now, which is written like \"+PT2S\": {0}")]
    Relative(DurationError),
}

/// Why a timestamp is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TimestampFault {
    /// Not in the format of RFC 3339.
    #[error("is not a timestamp")]
    Malformed,
    /// The required offset is missing.
    #[error("has no UTC offset (\"Z\" or \"+02:00\")")]
    MissingOffset,
    /// The named part, such as the month, is out of range.
    #[error("has a {0} that is out of range")]
    OutOfRange(&'static str),
    /// After the year 9999, which RFC 3339 cannot represent.
    #[error("is later than the year 9999")]
    TooLate,
}

fn read_timestamp(text: &[u8]) -> Result<Millis, TimestampFault> {
    let (head, tail) =
        text.split_at_checked("2026-02-12T10:30:00".len()).ok_or(TimestampFault::Malformed)?;
    let separators = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    let separated = separators.iter().all(|&(index, byte)| head[index] == byte);
    if !separated || !head[10].eq_ignore_ascii_case(&b'T') {
        return Err(TimestampFault::Malformed);
    }
    let year = digits(&head[..4])?;
    let month = in_range("month", digits(&head[5..7])?, 1, 12)?;
    let day = digits(&head[8..10])?;
    let day = in_range("day", day, 1, days_in_month(year, month))?;
    let hour = in_range("hour", digits(&head[11..13])?, 0, 23)?;
    let minute = in_range("minute", digits(&head[14..16])?, 0, 59)?;
    let second = in_range("second", digits(&head[17..19])?, 0, 59)?;

    let (fraction_ms, offset) = read_fraction(tail)?;
    let offset_seconds = read_offset(offset)?;
    let seconds = (hour * 60 + minute) * 60 + second - offset_seconds;
    let millis = days_from_civil(year, month, day) * DAY_MS + seconds * SECOND_MS + fraction_ms;
    if millis > Millis::MAX.0 {
        return Err(TimestampFault::TooLate);
    }
    Ok(Millis(millis))
}

/// Splits off an optional fraction such as `.123` and converts it to milliseconds.
fn read_fraction(text: &[u8]) -> Result<(i64, &[u8]), TimestampFault> {
    let Some(rest) = text.strip_prefix(b".") else {
        return Ok((0, text));
    };
    let length = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    if length == 0 {
        return Err(TimestampFault::Malformed);
    }
    let (fraction, rest) = rest.split_at(length);
    let millis = (0..3)
        .fold(0, |ms, digit| ms * 10 + fraction.get(digit).map_or(0, |b| i64::from(b - b'0')));
    Ok((millis, rest))
}

/// Reads `Z` or `+02:00` in seconds east of UTC.
fn read_offset(text: &[u8]) -> Result<i64, TimestampFault> {
    let (sign, hours, minutes) = match text {
        [] => return Err(TimestampFault::MissingOffset),
        b"Z" | b"z" => return Ok(0),
        [b'+', h1, h2, b':', m1, m2] => (1, [*h1, *h2], [*m1, *m2]),
        [b'-', h1, h2, b':', m1, m2] => (-1, [*h1, *h2], [*m1, *m2]),
        _ => return Err(TimestampFault::Malformed),
    };
    let hours = in_range("offset hour", digits(&hours)?, 0, 23)?;
    let minutes = in_range("offset minute", digits(&minutes)?, 0, 59)?;
    Ok(sign * (hours * 60 + minutes) * 60)
}

fn digits(text: &[u8]) -> Result<i64, TimestampFault> {
    text.iter().try_fold(0, |value, byte| match byte {
        b'0'..=b'9' => Ok(value * 10 + i64::from(byte - b'0')),
        _ => Err(TimestampFault::Malformed),
    })
}

fn in_range(name: &'static str, value: i64, min: i64, max: i64) -> Result<i64, TimestampFault> {
    if (min..=max).contains(&value) { Ok(value) } else { Err(TimestampFault::OutOfRange(name)) }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

// The two conversions below count from 1 March of year 0, so that the leap day is the last of its
// year and a month's first day is the linear function (153 * month + 2) / 5. An era is the 400
// years, or 146,097 days, after which the Gregorian calendar repeats.

const DAYS_FROM_MARCH_OF_YEAR_0_TO_EPOCH: i64 = 719_468;

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + day_of_year - DAYS_FROM_MARCH_OF_YEAR_0_TO_EPOCH
}

fn civil_from_days(days_since_epoch: u32) -> (u32, u32, u32) {
    let days = days_since_epoch + DAYS_FROM_MARCH_OF_YEAR_0_TO_EPOCH as u32;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u32::from(month <= 2);
    (year, month, day)
}

fn put_two_digits(text: &mut [u8; RFC3339_LEN], index: usize, value: u32) {
    text[index] = b'0' + (value / 10) as u8;
    text[index + 1] = b'0' + (value % 10) as u8;
}
