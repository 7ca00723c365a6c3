//! Option values that can be removed: a number, or `none`.

use rota_client::{Rate, Setting};
use rota_model::{RequestLimit, RequestLimits};
use serde_json::Number;

/// A count, or `none`.
pub(crate) fn count(text: &str) -> Result<Setting<u64>, String> {
    let expected = |_| "a whole number of at least 0, or none, is expected".to_owned();
    or_none(text, |text| text.parse().map_err(expected))
}

/// A size such as `512mb`, or `none`.
pub(crate) fn size(text: &str) -> Result<Setting<u64>, String> {
    or_none(text, super::size::size)
}

/// A whole number of either sign, or `none`.
pub(crate) fn whole(text: &str) -> Result<Setting<i64>, String> {
    let expected = |_| "a whole number or none is expected".to_owned();
    or_none(text, |text| text.parse().map_err(expected))
}

/// A positive number, or `none`. Whole numbers stay whole.
pub(crate) fn weight(text: &str) -> Result<Setting<Number>, String> {
    or_none(text, |text| {
        let number = serde_json::from_str::<Number>(text).ok();
        let positive = number.filter(|number| number.as_f64().is_some_and(|value| value > 0.0));
        positive.ok_or_else(|| "a number above 0 or none is expected".to_owned())
    })
}

/// A rate such as `100/1m`, or `none`.
pub(crate) fn rate(text: &str) -> Result<Setting<Rate>, String> {
    or_none(text, super::rate::rate)
}

/// A scope and its limit on requests, such as `enqueue=600/50`; the limit may be `off` or `none`.
pub(crate) fn request_limit(text: &str) -> Result<(String, Setting<String>), String> {
    let expected = || "SCOPE=PER_MINUTE/BURST is expected, such as enqueue=600/50".to_owned();
    let (scope, limit) = text.split_once('=').ok_or_else(expected)?;
    if !RequestLimits::FIELDS.contains(&scope) {
        return Err(format!("the scope is one of {}", RequestLimits::FIELDS.join(", ")));
    }
    let parse = |text: &str| RequestLimit::parse(text).map(RequestLimit::text).ok_or_else(expected);
    Ok((scope.to_owned(), or_none(limit, parse)?))
}

fn or_none<T>(text: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Setting<T>, String> {
    if text == "none" { Ok(Setting::Unset) } else { parse(text).map(Setting::To) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_or_none() {
        assert_eq!(count("5"), Ok(Setting::To(5)));
        assert_eq!(count("none"), Ok(Setting::Unset));
        assert_eq!(whole("-5"), Ok(Setting::To(-5)));
        assert_eq!(size("2kb"), Ok(Setting::To(2_048)));
        assert_eq!(size("none"), Ok(Setting::Unset));
        assert!(count("-5").is_err() && whole("x").is_err());
        let json = |setting: Setting<Number>| serde_json::to_string(&setting).unwrap();
        assert_eq!(json(weight("5").unwrap()), "5");
        assert_eq!(json(weight("0.5").unwrap()), "0.5");
        assert_eq!(json(weight("none").unwrap()), "null");
        let limit = request_limit("enqueue=600/50").unwrap();
        assert_eq!(limit, ("enqueue".to_owned(), Setting::To("600/50".to_owned())));
        assert_eq!(request_limit("default=none").unwrap().1, Setting::Unset);
        for bad in ["enqueue", "fetch=5", "enqueue=0", "enqueue=", "server=5"] {
            assert!(request_limit(bad).is_err(), "{bad}");
        }
        assert!(weight("0").is_err() && weight("-1").is_err() && weight("NaN").is_err());
    }
}
