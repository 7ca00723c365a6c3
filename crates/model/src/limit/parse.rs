//! Parsing limits in every shape that the OJS documents show.

use serde_json::{Map, Value};

use super::{DeclaredLimit, Feedback, LimitNumbers, OnLimit, Rate, RateLimit, Scope};
use crate::{LimitKey, QueueName, Rejection, duration, json};

const MAX_PERIOD_MS: u64 = 366 * 24 * 3_600_000;
const UNITS: [(&str, u64); 4] =
    [("second", 1_000), ("minute", 60_000), ("hour", 3_600_000), ("day", 86_400_000)];
const KNOWN: [&str; 8] =
    ["key", "concurrency", "rate", "period", "throttle", "max_per_second", "on_limit", "scope"];

/// Parses a job's `rate_limit`. Without a key, the limit is on the job's queue.
pub fn parse_rate_limit(
    value: &Value,
    queue: &QueueName,
    default_scope: Scope,
) -> Result<RateLimit, Rejection> {
    let Value::Object(members) = value else {
        return Err(Rejection::field("rate_limit", "must be an object")
            .hint("Send {\"key\": \"stripe-api\", \"concurrency\": 5}."));
    };
    json::check_members(names(members), &KNOWN, "rate_limit", "a rate limit")?;
    let key = match present(members, "key") {
        None => LimitKey::of_queue(queue),
        Some(Value::String(text)) => {
            LimitKey::parse(text).map_err(|e| Rejection::value("rate_limit.key", e.to_string()))?
        }
        Some(_) => return Err(Rejection::field("rate_limit.key", "must be a string")),
    };
    let on_limit =
        word(members, "on_limit", "rate_limit.on_limit", &OnLimit::ALL, OnLimit::as_str)?;
    let scope = word(members, "scope", "rate_limit.scope", &Scope::ALL, Scope::as_str)?;
    Ok(RateLimit {
        key,
        numbers: parse_numbers(members, "rate_limit")?,
        on_limit: on_limit.unwrap_or_default(),
        scope: scope.unwrap_or(default_scope),
    })
}

/// Parses `concurrency`, `rate` and `throttle` of a job, an override or a configuration.
pub fn parse_numbers(
    members: &Map<String, Value>,
    within: &str,
) -> Result<LimitNumbers, Rejection> {
    let concurrency = match present(members, "concurrency") {
        None => None,
        Some(value) => Some(whole(value, &format!("{within}.concurrency"))?),
    };
    let rate = match (present(members, "rate"), present(members, "max_per_second")) {
        (Some(_), Some(_)) => {
            let field = format!("{within}.max_per_second");
            return Err(Rejection::value(field, "and 'rate' cannot both be given"));
        }
        (None, Some(value)) => {
            let limit = whole(value, &format!("{within}.max_per_second"))?;
            Some(Rate { limit, period_ms: 1_000 })
        }
        (Some(value @ Value::Object(_)), None) => {
            Some(parse_rate(value, &format!("{within}.rate"))?)
        }
        (Some(value), None) => {
            let limit = whole(value, &format!("{within}.rate"))?;
            let period = present(members, "period").unwrap_or(&Value::Null);
            Some(Rate { limit, period_ms: period_ms(period, &format!("{within}.period"))? })
        }
        (None, None) => None,
    };
    let throttle = match present(members, "throttle") {
        None => None,
        Some(value) => {
            let field = format!("{within}.throttle");
            let throttle = parse_rate(value, &field)?;
            if throttle.limit == 0 {
                let field = format!("{field}.limit");
                return Err(Rejection::value(field, "must be at least 1")
                    .hint("A concurrency of 0 lets nothing start."));
            }
            Some(throttle)
        }
    };
    Ok(LimitNumbers { concurrency, rate, throttle })
}

/// Parses an operator's declaration of a key.
pub fn parse_declaration(
    members: &Map<String, Value>,
    within: &str,
) -> Result<DeclaredLimit, Rejection> {
    let numbers = parse_numbers(members, within)?;
    let feedback = parse_feedback(members, within)?.unwrap_or_default();
    if numbers.is_empty() && !feedback.is_default() {
        return Err(Rejection::value(
            format!("{within}.feedback"),
            "belongs to a declaration, which needs concurrency, rate or throttle",
        ));
    }
    Ok(DeclaredLimit { numbers, feedback })
}

/// Parses `feedback` of a declaration.
pub fn parse_feedback(
    members: &Map<String, Value>,
    within: &str,
) -> Result<Option<Feedback>, Rejection> {
    let field = format!("{within}.feedback");
    word(members, "feedback", &field, &Feedback::ALL, Feedback::as_str)
}

/// Parses `{"limit": 100, "period": "PT1M"}`.
pub fn parse_rate(value: &Value, field: &str) -> Result<Rate, Rejection> {
    let Value::Object(members) = value else {
        return Err(Rejection::field(field.to_owned(), "must be an object")
            .hint("Send {\"limit\": 100, \"period\": \"PT1M\"}."));
    };
    json::check_members(names(members), &["limit", "period"], field, "a rate")?;
    let required = |name: &str| {
        let missing = || Rejection::value(format!("{field}.{name}"), "is required");
        present(members, name).ok_or_else(missing)
    };
    Ok(Rate {
        limit: whole(required("limit")?, &format!("{field}.limit"))?,
        period_ms: period_ms(required("period")?, &format!("{field}.period"))?,
    })
}

fn period_ms(value: &Value, field: &str) -> Result<u64, Rejection> {
    let expected = "a duration such as PT1M or 30s, or second, minute, hour or day";
    let Value::String(text) = value else {
        return Err(Rejection::field(field.to_owned(), format!("must be {expected}")));
    };
    if let Some((_, ms)) = UNITS.iter().find(|(unit, _)| unit == text) {
        return Ok(*ms);
    }
    let ms = duration::parse_any(text)
        .map_err(|e| Rejection::value(field.to_owned(), format!("is '{text}': {e}")))?;
    match u64::try_from(ms) {
        Ok(ms) if (1..=MAX_PERIOD_MS).contains(&ms) => Ok(ms),
        _ => Err(Rejection::value(field.to_owned(), "must be from a millisecond to a year")),
    }
}

fn word<T: Copy>(
    members: &Map<String, Value>,
    name: &str,
    field: &str,
    all: &[T],
    text: fn(T) -> &'static str,
) -> Result<Option<T>, Rejection> {
    let Some(value) = present(members, name) else { return Ok(None) };
    let found = all.iter().find(|variant| value.as_str() == Some(text(**variant)));
    found.copied().map(Some).ok_or_else(|| {
        let words: Vec<_> = all.iter().map(|variant| text(*variant)).collect();
        Rejection::value(field.to_owned(), format!("must be one of {}", words.join(", ")))
    })
}

fn names(members: &Map<String, Value>) -> impl Iterator<Item = &str> {
    members.keys().map(String::as_str)
}

/// A member's value; null counts as absent.
fn present<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    members.get(name).filter(|value| !value.is_null())
}

fn whole(value: &Value, field: &str) -> Result<u32, Rejection> {
    let number = value.as_u64().and_then(|n| u32::try_from(n).ok());
    number.ok_or_else(|| {
        let problem = format!("must be a whole number from 0 to {}, not {value}", u32::MAX);
        if value.is_number() {
            Rejection::value(field.to_owned(), problem)
        } else {
            Rejection::field(field.to_owned(), problem)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<RateLimit, Rejection> {
        parse_rate_limit(&value, &QueueName::default_queue(), Scope::Global)
    }

    #[test]
    fn every_shape_is_parsed() {
        let full = read(json!({
            "key": "stripe-api", "concurrency": 5, "rate": {"limit": 100, "period": "PT1M"},
            "throttle": {"limit": 10, "period": "PT1S"}, "on_limit": "drop", "scope": "tenant",
        }));
        let full = full.unwrap();
        assert_eq!(&*full.key, "stripe-api");
        assert_eq!(full.numbers.rate, Some(Rate { limit: 100, period_ms: 60_000 }));
        assert_eq!(full.numbers.throttle.unwrap().interval_us(), 100_000);
        assert_eq!((full.on_limit, full.scope), (OnLimit::Drop, Scope::Tenant));
        let short = read(json!({"max_per_second": 3})).unwrap();
        assert_eq!(&*short.key, "queue:default");
        assert_eq!(short.numbers.rate, Some(Rate { limit: 3, period_ms: 1_000 }));
        let flat = read(json!({"key": "k", "rate": 1, "period": "minute"})).unwrap();
        assert_eq!(flat.numbers.rate, Some(Rate { limit: 1, period_ms: 60_000 }));
        let none = read(json!({"key": "k", "concurrency": null, "rate": null})).unwrap();
        assert!(none.numbers.is_empty());
    }

    #[test]
    fn invalid_fields_are_rejected_by_name() {
        for (bad, field) in [
            (json!({"key": "-x"}), "rate_limit.key"),
            (json!({"key": "k", "concurrency": -1}), "rate_limit.concurrency"),
            (json!({"key": "k", "concurrency": 1.5}), "rate_limit.concurrency"),
            (json!({"key": "k", "rate": {"limit": 1}}), "rate_limit.rate.period"),
            (json!({"key": "k", "rate": {"period": "PT1S"}}), "rate_limit.rate.limit"),
            (json!({"key": "k", "rate": {"limit": 1, "period": "PT0S"}}), "rate_limit.rate.period"),
            (
                json!({"key": "k", "throttle": {"limit": 0, "period": "PT1S"}}),
                "rate_limit.throttle.limit",
            ),
            (json!({"key": "k", "on_limit": "retry"}), "rate_limit.on_limit"),
            (json!({"key": "k", "burst": 1}), "rate_limit.burst"),
            (json!({"rate": {"limit": 1, "period": "PT1S", "per": 1}}), "rate_limit.rate.per"),
            (json!("k"), "rate_limit"),
        ] {
            assert_eq!(read(bad).unwrap_err().field.as_deref(), Some(field));
        }
    }
}
