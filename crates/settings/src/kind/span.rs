use std::time::Duration;

use rota_model::duration::parse_any;

use super::Kind;

pub(crate) const MILLISECOND: u64 = 1;
pub(crate) const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
pub(crate) const HOUR: u64 = 60 * MINUTE;
pub(crate) const DAY: u64 = 24 * HOUR;

/// Largest first, for `show`.
const UNITS: [(&str, u64); 5] =
    [("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", MILLISECOND)];

/// A length of time between two bounds in milliseconds, both included.
pub(crate) struct Span {
    least: u64,
    most: u64,
}

impl Span {
    pub(crate) const fn between(least: u64, most: u64) -> Self {
        Self { least, most }
    }
}

impl Kind for Span {
    type Value = Duration;

    const EXAMPLES: &'static str = "500ms, 30s, 1h30m or PT30S";

    fn parse(&self, text: &str) -> Option<Duration> {
        let millis = parse_millis(text)?;
        let within = (self.least..=self.most).contains(&millis);
        within.then(|| Duration::from_millis(millis))
    }

    fn accepts(&self) -> String {
        format!("a duration from {} to {}", show(self.least), show(self.most))
    }

    fn amount(&self, value: &Duration) -> Option<u64> {
        u64::try_from(value.as_millis()).ok()
    }
}

/// How long to keep something: a span, or `never` for never letting go.
pub(crate) struct Keep(pub Span);

impl Kind for Keep {
    type Value = Option<Duration>;

    const EXAMPLES: &'static str = "12h, 7d or P30D";

    fn parse(&self, text: &str) -> Option<Option<Duration>> {
        match text {
            "never" => Some(None),
            _ => self.0.parse(text).map(Some),
        }
    }

    fn accepts(&self) -> String {
        format!("{}, or never", self.0.accepts())
    }
}

/// A number needs its unit, except for zero.
fn parse_millis(text: &str) -> Option<u64> {
    match text {
        "0" => Some(0),
        _ if text.bytes().all(|byte| byte.is_ascii_digit()) => None,
        _ => u64::try_from(parse_any(text).ok()?).ok(),
    }
}

fn show(millis: u64) -> String {
    let whole = |(_, unit): &&(&str, u64)| millis > 0 && millis.is_multiple_of(*unit);
    match UNITS.iter().find(whole) {
        Some((name, unit)) => format!("{}{name}", millis / unit),
        None => millis.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Span = Span::between(0, 3660 * DAY);

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
            assert_eq!(ANY.parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn refuses_everything_else() {
        for text in ["", "30", "s", "30x", "-30s", "soon", "never", "4000d"] {
            assert_eq!(ANY.parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn bounds_are_included() {
        let span = Span::between(SECOND, HOUR);
        assert_eq!(span.parse("999ms"), None);
        assert!(span.parse("1s").is_some());
        assert!(span.parse("60m").is_some());
        assert_eq!(span.parse("61m"), None);
        assert_eq!(span.accepts(), "a duration from 1s to 1h");
    }

    #[test]
    fn keep_knows_never() {
        let keep = Keep(Span::between(0, 30 * DAY));
        assert_eq!(keep.parse("never"), Some(None));
        assert_eq!(keep.parse("0"), Some(Some(Duration::ZERO)));
        assert_eq!(keep.parse("7d"), Some(Some(Duration::from_millis(7 * DAY))));
        assert_eq!(keep.parse("31d"), None);
        assert_eq!(keep.parse("Never"), None);
        assert_eq!(keep.accepts(), "a duration from 0 to 30d, or never");
    }
}
