//! The moment to which a restore returns.

use jiff::Timestamp;
use rota_model::Millis;

use crate::commands::jobs::time_or_ago;

/// A time, or how long ago, with or without a minus sign.
pub(super) fn parse(text: &str) -> Result<Millis, String> {
    let time = time_or_ago(text.strip_prefix('-').unwrap_or(text))?;
    let time: Timestamp = time.parse().map_err(|error: jiff::Error| error.to_string())?;
    Ok(Millis(time.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_or_how_long_ago() {
        assert_eq!(parse("1970-01-01T00:00:01.5Z"), Ok(Millis(1_500)));
        assert_eq!(parse("1970-01-01T01:00:01+01:00"), Ok(Millis(1_000)));
        let now = Timestamp::now().as_millisecond();
        for text in ["10m", "-10m"] {
            let ago = now - parse(text).unwrap().0;
            assert!((599_000..=600_000).contains(&ago), "{text}: {ago}");
        }
        for text in ["", "-", "yesterday", "10", "-2027-01-01T06:00:00Z"] {
            assert!(parse(text).is_err() || text.starts_with("-2027"), "{text}");
        }
    }
}
