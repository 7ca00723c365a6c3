//! Parsing retry policies.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::policy::{Coefficient, Strategy};
use crate::{Exhaustion, Rejection, RetryPolicy, duration, json};

const MAX_ATTEMPTS: i64 = 1_000_000;
const MAX_INTERVAL_MS: u64 = 3_660 * 86_400_000;
const MAX_PATTERNS: usize = 100;
/// Length of all patterns together, in bytes. The policy stays in memory with the class of the job.
const MAX_PATTERN_BYTES: usize = 4_096;

/// The members of a retry policy. Some have several names, because the OJS documents differ.
const MEMBERS: [&str; 15] = [
    "max_attempts",
    "initial_interval",
    "initial_interval_ms",
    "initial_delay_ms",
    "base_delay_ms",
    "max_interval",
    "max_interval_ms",
    "max_delay_ms",
    "backoff_coefficient",
    "backoff_strategy",
    "strategy",
    "backoff",
    "jitter",
    "non_retryable_errors",
    "on_exhaustion",
];

/// Parses a retry policy. Absent members have their defaults.
pub fn parse_retry(raw: &RawValue) -> Result<RetryPolicy, Rejection> {
    if !raw.get().starts_with('{') {
        return Err(problem("", format!("must be an object, not {}", json::type_name(raw))));
    }
    let mut policy = RetryPolicy::default();
    let (mut initial, mut max, mut backoff) = (None, None, None);
    for (key, value) in json::members(raw.get(), "'retry'")? {
        if value.get() == "null" && MEMBERS.contains(&&*key) {
            continue;
        }
        match &*key {
            "max_attempts" => policy.max_attempts = attempts(value, "retry.max_attempts")?,
            "initial_interval" => set(&mut initial, &key, interval(value, &key)?)?,
            "initial_interval_ms" | "initial_delay_ms" | "base_delay_ms" => {
                set(&mut initial, &key, whole_ms(value, &key)?)?;
            }
            "max_interval" => set(&mut max, &key, interval(value, &key)?)?,
            "max_interval_ms" | "max_delay_ms" => set(&mut max, &key, whole_ms(value, &key)?)?,
            "backoff_coefficient" => policy.coefficient = coefficient(value)?,
            "backoff_strategy" | "strategy" | "backoff" => {
                set(&mut backoff, &key, strategy(value, &key)?)?;
            }
            "jitter" => {
                policy.jitter = serde_json::from_str(value.get())
                    .map_err(|_| problem("jitter", "must be true or false"))?;
            }
            "non_retryable_errors" => policy.non_retryable = patterns(value)?,
            "on_exhaustion" => policy.on_exhaustion = exhaustion(value)?,
            _ => return Err(json::unknown_member(&key, &MEMBERS, "retry", "a retry policy")),
        }
    }
    policy.strategy = backoff.unwrap_or(policy.strategy);
    policy.initial_ms = initial.unwrap_or(policy.initial_ms);
    if policy.initial_ms == 0 {
        return Err(problem("initial_interval", "must be more than 0"));
    }
    policy.max_ms = max.unwrap_or(policy.max_ms.max(policy.initial_ms));
    if policy.max_ms < policy.initial_ms {
        return Err(problem("max_interval", "must not be shorter than 'initial_interval'"));
    }
    Ok(policy)
}

/// Sets a member that has several names, to one value.
fn set<T: PartialEq>(slot: &mut Option<T>, name: &str, value: T) -> Result<(), Rejection> {
    if slot.as_ref().is_some_and(|other| *other != value) {
        return Err(problem(name, "differs from another member that means the same"));
    }
    *slot = Some(value);
    Ok(())
}

pub(super) fn attempts(raw: &RawValue, field: &str) -> Result<u32, Rejection> {
    match serde_json::from_str::<i64>(raw.get()) {
        Ok(n @ 0..=MAX_ATTEMPTS) => Ok(n as u32),
        _ => Err(Rejection::value(
            field.to_owned(),
            format!("must be a whole number from 0 to {MAX_ATTEMPTS}, not {}", raw.get()),
        )),
    }
}

fn interval(raw: &RawValue, field: &str) -> Result<u64, Rejection> {
    let text: String = serde_json::from_str(raw.get())
        .map_err(|_| problem(field, "must be an ISO 8601 duration such as \"PT1S\""))?;
    let ms =
        duration::parse_iso8601(&text).map_err(|e| problem(field, format!("is '{text}': {e}")))?;
    bounded(u64::try_from(ms).unwrap_or(0), field)
}

fn whole_ms(raw: &RawValue, field: &str) -> Result<u64, Rejection> {
    let ms = serde_json::from_str(raw.get())
        .map_err(|_| problem(field, "must be a whole number of milliseconds"))?;
    bounded(ms, field)
}

fn bounded(ms: u64, field: &str) -> Result<u64, Rejection> {
    if ms > MAX_INTERVAL_MS {
        return Err(problem(field, "is longer than ten years"));
    }
    Ok(ms)
}

fn coefficient(raw: &RawValue) -> Result<Coefficient, Rejection> {
    match serde_json::from_str::<f64>(raw.get()) {
        Ok(value) if value.is_finite() && value >= 1.0 => Ok(Coefficient(value)),
        _ => Err(problem(
            "backoff_coefficient",
            format!("must be a number of at least 1.0, not {}", raw.get()),
        )),
    }
}

fn strategy(raw: &RawValue, field: &str) -> Result<Strategy, Rejection> {
    match raw.get() {
        "\"none\"" | "\"constant\"" | "\"fixed\"" => Ok(Strategy::Constant),
        "\"linear\"" => Ok(Strategy::Linear),
        "\"exponential\"" => Ok(Strategy::Exponential),
        "\"polynomial\"" => Ok(Strategy::Polynomial),
        _ => Err(problem(
            field,
            "must be \"none\", \"constant\", \"linear\", \"exponential\" or \"polynomial\"",
        )),
    }
}

fn patterns(raw: &RawValue) -> Result<Arc<[Arc<str>]>, Rejection> {
    match serde_json::from_str::<Vec<String>>(raw.get()) {
        Ok(list) if list.len() > MAX_PATTERNS => {
            Err(problem("non_retryable_errors", format!("has more than {MAX_PATTERNS} entries")))
        }
        Ok(list) if list.iter().map(String::len).sum::<usize>() > MAX_PATTERN_BYTES => {
            let text = format!("has entries of more than {MAX_PATTERN_BYTES} bytes together");
            Err(problem("non_retryable_errors", text))
        }
        Ok(list) => Ok(list.into_iter().map(Arc::from).collect()),
        Err(_) => Err(problem("non_retryable_errors", "must be an array of strings")),
    }
}

fn exhaustion(raw: &RawValue) -> Result<Exhaustion, Rejection> {
    match raw.get() {
        "\"discard\"" => Ok(Exhaustion::Discard),
        "\"dead_letter\"" => Ok(Exhaustion::DeadLetter),
        _ => Err(problem("on_exhaustion", "must be \"discard\" or \"dead_letter\"")),
    }
}

fn problem(field: &str, text: impl AsRef<str>) -> Rejection {
    let field = if field.is_empty() { "retry".to_owned() } else { format!("retry.{field}") };
    Rejection::value(field, text)
}
