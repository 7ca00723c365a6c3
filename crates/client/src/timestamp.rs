//! Times as the specification writes them.

use std::time::SystemTime;

use jiff::Timestamp;

/// A time in RFC 3339, in UTC and with milliseconds.
#[must_use]
pub fn timestamp(time: SystemTime) -> Option<String> {
    Timestamp::try_from(time).ok().map(|time| format!("{time:.3}"))
}
