use std::ops::RangeInclusive;
use std::time::Duration;

use rota_model::duration::parse_any;

use super::{Kind, in_units};

pub(crate) const MILLISECOND: u64 = 1;
pub(crate) const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
pub(crate) const HOUR: u64 = 60 * MINUTE;
pub(crate) const DAY: u64 = 24 * HOUR;

/// Largest first, for `in_units`.
const UNITS: [(&str, u64); 5] =
    [("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", MILLISECOND)];

/// A length of time; the bounds are in milliseconds.
pub(crate) fn duration(range: RangeInclusive<u64>) -> Kind<Duration> {
    let show = |millis: &u64| in_units(*millis, &UNITS);
    let accepts = format!("a duration from {} to {}", show(range.start()), show(range.end()));
    let parse = move |text: &str| {
        let millis = parse_millis(text).filter(|n| range.contains(n))?;
        Some(Duration::from_millis(millis))
    };
    let kind = Kind::new(accepts, parse).such_as("500ms, 30s, 1h30m or PT30S");
    Kind { amount: Some(|span| span.as_millis() as u64), ..kind }
}

/// A number needs a unit, except zero.
fn parse_millis(text: &str) -> Option<u64> {
    match text {
        "0" => Some(0),
        _ if text.bytes().all(|byte| byte.is_ascii_digit()) => None,
        _ => u64::try_from(parse_any(text).ok()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any() -> Kind<Duration> {
        duration(0..=3660 * DAY)
    }

    #[test]
    fn takes_short_and_iso_8601_forms() {
        for (text, millis) in [
            ("0", 0),
            ("0s", 0),
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("7d", 7 * DAY),
            ("1h30m", 5_400_000),
            ("PT30S", 30_000),
            ("P7D", 7 * DAY),
        ] {
            assert_eq!(any().parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in ["", "30", "s", "30x", "-30s", "soon", "never", "4000d"] {
            assert_eq!(any().parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn bounds_are_included() {
        let span = duration(SECOND..=HOUR);
        assert_eq!(span.parse("999ms"), None);
        assert!(span.parse("1s").is_some());
        assert!(span.parse("60m").is_some());
        assert_eq!(span.parse("61m"), None);
        assert_eq!(span.accepts, "a duration from 1s to 1h");
    }
}
