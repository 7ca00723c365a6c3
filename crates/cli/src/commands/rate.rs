//! Rates such as `100/1m`: a number per period.

use jiff::Span;
use rota_client::Rate;

use super::job_options::duration_ms;

/// Parses `100/1m`, `10/s` or `5/PT1H`.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let expected = || "a rate such as 100/1m, 10/s or 5000/1h is expected".to_owned();
    let (limit, period) = text.split_once('/').ok_or_else(expected)?;
    let limit = limit.trim().parse().map_err(|_| expected())?;
    let period = period.trim();
    // `10/s` is short for `10/1s`.
    let period = match period.starts_with(|first: char| first.is_ascii_lowercase()) {
        true => format!("1{period}"),
        false => period.to_owned(),
    };
    match duration_ms(&period) {
        Ok(ms) if ms > 0 => Ok(Rate { limit, period: iso8601(&period).map_err(|_| expected())? }),
        _ => Err(expected()),
    }
}

/// Converts `1m` to `PT1M`, the form that servers accept.
pub(crate) fn iso8601(text: &str) -> Result<String, String> {
    duration_ms(text)?;
    let span: Span = text.parse().map_err(|_| "a duration is expected".to_owned())?;
    Ok(span.to_string())
}

/// Converts `PT1M` to `1m`; anything else is returned unchanged.
pub(crate) fn short(period: &str) -> String {
    match period.parse::<Span>() {
        Ok(span) => format!("{span:#}").replace(' ', ""),
        Err(_) => period.to_owned(),
    }
}

/// Formats a rate as `100/1m`.
pub(crate) fn shown(rate: &Rate) -> String {
    format!("{}/{}", rate.limit, short(&rate.period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_a_count_and_a_period() {
        let parsed = |text| rate(text).map(|rate| (rate.limit, rate.period));
        assert_eq!(parsed("100/1m"), Ok((100, "PT1M".to_owned())));
        assert_eq!(parsed("10/s"), Ok((10, "PT1S".to_owned())));
        assert_eq!(parsed("5/PT1H"), Ok((5, "PT1H".to_owned())));
        assert_eq!(parsed("7/1h30m"), Ok((7, "PT1H30M".to_owned())));
        assert_eq!(parsed("1000/2d"), Ok((1_000, "P2D".to_owned())));
        assert_eq!(parsed("3/500ms"), Ok((3, "PT0.5S".to_owned())));
        for bad in ["", "100", "100/", "/1m", "a/1m", "-1/1m", "100/0s", "100/5", "100/fortnight"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_are_shown_as_they_are_typed() {
        let of = |limit, period: &str| shown(&Rate { limit, period: period.to_owned() });
        assert_eq!(of(100, "PT1M"), "100/1m");
        assert_eq!(of(7, "PT1H30M"), "7/1h30m");
        assert_eq!(of(7, "minute"), "7/minute");
    }
}
