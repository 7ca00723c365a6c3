//! Matches strings.

use jiff::Timestamp;
use regex_lite::Regex;
use serde_json::Value;

#[derive(Debug, Clone)]
pub enum TextRule {
    NonEmpty,
    Uuid,
    UuidV7,
    /// RFC 3339, and a date that exists.
    DateTime,
    Contains(String),
    Pattern(Regex),
}

impl TextRule {
    pub(super) fn check(&self, actual: Option<&Value>) -> Result<(), String> {
        let text = actual.and_then(Value::as_str).ok_or("is not a text")?;
        let (fits, otherwise) = match self {
            TextRule::NonEmpty => (!text.is_empty(), "is empty"),
            TextRule::Uuid => (is_uuid(text), "is not a UUID"),
            TextRule::UuidV7 => (is_uuid(text) && is_version_7(text), "is not a UUIDv7"),
            TextRule::DateTime => (is_datetime(text), "is not an RFC 3339 time"),
            TextRule::Contains(part) => (text.contains(part.as_str()), "does not contain the text"),
            TextRule::Pattern(pattern) => (pattern.is_match(text), "does not match the pattern"),
        };
        super::expect(fits, otherwise)
    }
}

/// Lowercase only, as the specification writes it.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

fn is_version_7(uuid: &str) -> bool {
    let bytes = uuid.as_bytes();
    bytes[14] == b'7' && matches!(bytes[19], b'8' | b'9' | b'a' | b'b')
}

/// The parser also takes forms that RFC 3339 does not (a space, no seconds, a zone's name), so the
/// shape is checked first.
fn is_datetime(text: &str) -> bool {
    let Some((date_and_time, zone)) = text.split_at_checked(19) else {
        return false;
    };
    let shaped = date_and_time.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        10 => byte == b'T',
        13 | 16 => byte == b':',
        _ => byte.is_ascii_digit(),
    });
    shaped && is_zone(after_fraction(zone)) && text.parse::<Timestamp>().is_ok()
}

fn after_fraction(zone: &str) -> &str {
    match zone.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|digit: char| digit.is_ascii_digit()),
        None => zone,
    }
}

fn is_zone(zone: &str) -> bool {
    let offset = |bytes: &[u8]| {
        bytes.len() == 6
            && matches!(bytes[0], b'+' | b'-')
            && bytes[3] == b':'
            && [1, 2, 4, 5].iter().all(|at| bytes[*at].is_ascii_digit())
    };
    zone == "Z" || offset(zone.as_bytes())
}
