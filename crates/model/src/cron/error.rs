//! The errors of parsing cron expressions and time zones.

use thiserror::Error;

use super::field::Field;
use crate::duration::DurationError;

/// Why a cron expression or a time zone is invalid.
#[expect(missing_docs, reason = "the message of each variant says what it means")]
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CronError {
    #[error("the cron expression is empty; expected five fields, such as \"0 9 * * MON-FRI\"")]
    Empty,
    #[error("the cron expression is longer than {max} bytes")]
    TooLong { max: usize },
    #[error(
        "the cron expression has {count} field(s); expected 5 (minute, hour, day of month, month, \
         day of week) or 6 (with seconds first)"
    )]
    FieldCount { count: usize },
    #[error("{field} has an empty item in its list; allowed: {}", field.allowed())]
    EmptyItem { field: Field },
    #[error("{field} {value:?} cannot be read; allowed: {}", field.allowed())]
    Malformed { field: Field, value: String },
    #[error("{field} {value:?} is out of range; allowed: {}", field.allowed())]
    OutOfRange { field: Field, value: String },
    #[error("{field} {value:?} has an invalid step; allowed: 1 to {}", field.size())]
    InvalidStep { field: Field, value: String },
    #[error("{field} range {value:?} ends before it starts; allowed: {}", field.allowed())]
    ReversedRange { field: Field, value: String },
    #[error("{field} {value:?} asks for an occurrence in the month; allowed: #1 to #5")]
    InvalidNth { field: Field, value: String },
    #[error("the cron expression {0:?} matches no date that exists")]
    NeverMatches(String),
    #[error(
        "{0:?} is not a known schedule; expected @yearly, @annually, @monthly, @weekly, @daily, \
         @midnight, @hourly or \"@every <duration>\""
    )]
    UnknownAlias(String),
    #[error("\"@every\" has an invalid duration: {0}")]
    InvalidInterval(DurationError),
    #[error("\"@every\" {0:?} is too short; schedules are evaluated at most once a second (1s)")]
    IntervalTooShort(String),

    #[error(
        "the time zone is empty; expected an IANA name, such as \"America/New_York\" or \"UTC\""
    )]
    ZoneEmpty,
    #[error(
        "time zone {0:?} is a fixed offset, which knows no daylight saving time; expected an IANA \
         name, such as \"America/New_York\" or \"UTC\""
    )]
    ZoneIsOffset(String),
    #[error(
        "time zone {0:?} is an abbreviation or a legacy name; expected a full IANA name, such as \
         \"America/New_York\", or \"UTC\""
    )]
    ZoneIsAbbreviation(String),
    #[error("time zone {given:?} is spelled {known:?} in the IANA database")]
    ZoneMisspelled { given: String, known: String },
    #[error(
        "time zone {0:?} is not in the IANA database; expected a name such as \
         \"America/New_York\" or \"UTC\""
    )]
    ZoneUnknown(String),
}
