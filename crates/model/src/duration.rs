//! Parsing and formatting durations, which are milliseconds inside.
//!
//! A duration is a fixed length: a day has 24 hours, a week 7 days, a month 30 days and a year 365
//! days. Fractions of a millisecond are truncated.
//!
//! jiff is not used, because it rejects fractions of days and durations over 20,000 years, and accepts
//! `pt30s` and `1 hour`.

use std::fmt;

use thiserror::Error;

#[cfg(test)]
mod tests;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Unit names with their lengths, in the only order in which they may be given.
type Units = [(&'static str, i64)];

const ISO_DATE_UNITS: &Units = &[("Y", 365 * DAY), ("M", 30 * DAY), ("W", 7 * DAY), ("D", DAY)];
const ISO_TIME_UNITS: &Units = &[("H", HOUR), ("M", MINUTE), ("S", SECOND)];
const HUMAN_UNITS: &Units = &[("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", 1)];

/// Reads `P[n]Y[n]M[n]W[n]DT[n]H[n]M[n]S`; the last number may have a decimal fraction.
pub fn parse_iso8601(text: &str) -> Result<i64, DurationError> {
    read_iso8601(text).map_err(|problem| DurationError { problem, expected: Form::Iso8601 })
}

/// Reads `500ms`, `45s`, `30m`, `2h`, `7d` and, largest unit first, combinations like `1h30m`.
pub fn parse_human(text: &str) -> Result<i64, DurationError> {
    read_human(text).map_err(|problem| DurationError { problem, expected: Form::Human })
}

/// Reads either form.
pub fn parse_any(text: &str) -> Result<i64, DurationError> {
    let read = if text.starts_with('P') { read_iso8601(text) } else { read_human(text) };
    read.map_err(|problem| DurationError { problem, expected: Form::Any })
}

/// Formats a duration as days, hours, minutes and seconds, without zero units. `parse_iso8601` reads
/// back the same value. A negative value is written as zero.
pub fn format_iso8601(ms: i64) -> String {
    if ms <= 0 {
        return "PT0S".to_owned();
    }
    let mut text = String::from("P");
    push_unit(&mut text, ms / DAY, 'D');
    if ms % DAY == 0 {
        return text;
    }
    text.push('T');
    push_unit(&mut text, ms % DAY / HOUR, 'H');
    push_unit(&mut text, ms % HOUR / MINUTE, 'M');
    let (seconds, millis) = (ms % MINUTE / SECOND, ms % SECOND);
    if millis == 0 {
        push_unit(&mut text, seconds, 'S');
    } else {
        let fraction = format!("{millis:03}");
        text.push_str(&format!("{seconds}.{}S", fraction.trim_end_matches('0')));
    }
    text
}

/// Why a duration is invalid. The message names the expected form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem}; expected {expected}")]
pub struct DurationError {
    problem: Problem,
    expected: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
enum Problem {
    #[error("the duration is empty")]
    Empty,
    #[error("a duration cannot be negative")]
    Negative,
    #[error("the duration is too long")]
    Overflow,
    #[error("the duration does not start with \"P\"")]
    MissingPrefix,
    #[error("nothing follows the \"T\" of the duration")]
    EmptyTime,
    #[error("the duration has something other than a number where a number belongs")]
    NotANumber,
    #[error("the duration has a unit that is unknown, repeated or out of order")]
    WrongUnit,
    #[error("only the last number of a duration may have a fraction")]
    FractionNotLast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Iso8601,
    Human,
    Any,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Form::Iso8601 => "an ISO 8601 duration such as \"PT30S\", \"PT1.5S\" or \"P1DT12H\"",
            Form::Human => "a duration such as \"500ms\", \"45s\", \"1h30m\" or \"7d\"",
            Form::Any => {
                "an ISO 8601 duration such as \"PT30S\", or one such as \"45s\" or \"1h30m\""
            }
        })
    }
}

fn read_iso8601(text: &str) -> Result<i64, Problem> {
    check_sign(text)?;
    let body = text.strip_prefix('P').ok_or(Problem::MissingPrefix)?;
    let (date, time) = match body.split_once('T') {
        Some((_, "")) => return Err(Problem::EmptyTime),
        Some((date, time)) => (date, time),
        None if body.is_empty() => return Err(Problem::Empty),
        None => (body, ""),
    };
    let mut total = Total::default();
    total.add_components(date, ISO_DATE_UNITS)?;
    total.add_components(time, ISO_TIME_UNITS)?;
    Ok(total.ms)
}

fn read_human(text: &str) -> Result<i64, Problem> {
    check_sign(text)?;
    let mut total = Total::default();
    total.add_components(text, HUMAN_UNITS)?;
    Ok(total.ms)
}

fn check_sign(text: &str) -> Result<(), Problem> {
    match text {
        "" => Err(Problem::Empty),
        _ if text.contains('-') => Err(Problem::Negative),
        _ => Ok(()),
    }
}

#[derive(Default)]
struct Total {
    ms: i64,
    fraction_seen: bool,
}

impl Total {
    /// Adds components like `1h30m`, whose units must come in the order of `units`.
    fn add_components(&mut self, mut text: &str, mut units: &Units) -> Result<(), Problem> {
        while !text.is_empty() {
            if self.fraction_seen {
                return Err(Problem::FractionNotLast);
            }
            let (whole, rest) = split_digits(text)?;
            let (fraction, rest) = match rest.strip_prefix(['.', ',']) {
                Some(rest) => split_digits(rest)?,
                None => ("", rest),
            };
            let unit_end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let (unit, rest) = rest.split_at(unit_end);
            let index =
                units.iter().position(|(name, _)| *name == unit).ok_or(Problem::WrongUnit)?;

            self.fraction_seen = !fraction.is_empty();
            self.add(whole, fraction, units[index].1).ok_or(Problem::Overflow)?;
            units = &units[index + 1..];
            text = rest;
        }
        Ok(())
    }

    fn add(&mut self, whole: &str, fraction: &str, unit_ms: i64) -> Option<()> {
        let whole_ms = whole.parse::<i64>().ok()?.checked_mul(unit_ms)?;
        self.ms = self.ms.checked_add(whole_ms)?.checked_add(fraction_of(fraction, unit_ms))?;
        Some(())
    }
}

fn split_digits(text: &str) -> Result<(&str, &str), Problem> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 {
        return Err(Problem::NotANumber);
    }
    Ok(text.split_at(end))
}

/// The decimals after the point in milliseconds, truncated.
fn fraction_of(digits: &str, unit_ms: i64) -> i64 {
    // Even for years, digits beyond the fifteenth are less than a millisecond.
    let digits = &digits[..digits.len().min(15)];
    let scale = 10_i128.pow(digits.len() as u32);
    let value = digits.bytes().fold(0, |value, b| value * 10 + i128::from(b - b'0'));
    (value * i128::from(unit_ms) / scale) as i64
}

fn push_unit(text: &mut String, amount: i64, unit: char) {
    if amount > 0 {
        text.push_str(&format!("{amount}{unit}"));
    }
}
