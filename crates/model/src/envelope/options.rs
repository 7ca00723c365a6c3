//! Parsing the options of a job: queue, priority, times, timeouts, retry policy and limit.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::fields::Fields;
use super::{Rules, Sender, queue_name, retry, string, wrong_type};
use crate::limit::parse_rate_limit;
use crate::time::{Present, parse_when};
use crate::{Directive, Millis, QueueName, RateLimit, Rejection, RetryPolicy, Scope, json};

const PRIORITIES: std::ops::RangeInclusive<i64> = -100..=100;
const MAX_TIMEOUT_MS: u64 = 366 * 24 * 3_600_000;

pub(super) struct Options<'a> {
    pub queue: QueueName,
    pub priority: i16,
    pub retry: RetryPolicy,
    pub timeout_ms: Option<u64>,
    pub visibility_ms: Option<u64>,
    pub start_at: Option<Time<'a>>,
    pub expires: Option<Time<'a>>,
    pub pending: bool,
    pub directive: Option<Directive>,
    pub limit: Option<RateLimit>,
}

/// A point in time and the text to show for it: the client's, or else a time in UTC, if the client's is
/// relative or has another offset.
pub(super) struct Time<'a> {
    pub at: Millis,
    pub text: Cow<'a, str>,
}

impl<'a> Options<'a> {
    pub fn read(
        fields: &Fields<'a>,
        rules: &Rules,
        present: Present,
        sender: Sender<'_>,
    ) -> Result<Self, Rejection> {
        reject_unsupported(fields)?;
        let queue = match fields.option("queue") {
            Some(raw) => queue_name(raw, "queue")?,
            None => QueueName::default_queue(),
        };
        let options = Self {
            limit: rate_limit(fields, &queue, default_scope(rules, sender))?,
            queue,
            priority: fields.option("priority").map_or(Ok(0), parse_priority)?,
            retry: retry_policy(fields)?,
            timeout_ms: timeout(fields)?,
            visibility_ms: visibility(fields, rules)?,
            start_at: start_at(fields, rules, present)?,
            expires: time(fields, "expires_at", present)?,
            pending: fields.option("pending").map_or(Ok(false), |raw| boolean(raw, "pending"))?,
            directive: directive(fields, rules),
        };
        if let Some(raw) = fields.option("tags") {
            check_tags(raw)?;
        }
        if let Some(raw) = fields.schema {
            string(raw, "schema")?;
        }
        if options.pending && options.start_at.as_ref().is_some_and(|t| t.at > present.now) {
            return Err(Rejection::value(
                "pending",
                "cannot be combined with a start in the future: activation decides the start",
            ));
        }
        Ok(options)
    }
}

fn reject_unsupported(fields: &Fields<'_>) -> Result<(), Rejection> {
    match fields.option("unique") {
        None => Ok(()),
        Some(_) => Err(Rejection::unsupported(
            "unique",
            "asks for unique jobs, which this server does not serve yet",
        )),
    }
}

/// The member `retry`, and `options.max_attempts`, which some clients send instead.
fn retry_policy(fields: &Fields<'_>) -> Result<RetryPolicy, Rejection> {
    let retry = fields.option("retry");
    let mut policy = retry.map_or_else(|| Ok(RetryPolicy::default()), retry::parse_retry)?;
    let alone = fields.unknown_options.iter().find(|(name, _)| name == "max_attempts");
    if let Some((_, raw)) = alone.filter(|(_, raw)| raw.get() != "null") {
        let max_attempts = retry::attempts(raw, "options.max_attempts")?;
        let in_policy = retry.is_some_and(|retry| retry.get().contains("max_attempts"));
        if in_policy && policy.max_attempts != max_attempts {
            let text = "and 'retry.max_attempts' say different things";
            return Err(Rejection::field("options.max_attempts", text));
        }
        policy.max_attempts = max_attempts;
    }
    Ok(policy)
}

/// Whose counters a limit has that does not say so.
fn default_scope(rules: &Rules, sender: Sender<'_>) -> Scope {
    if sender.is_proven() { Scope::Tenant } else { rules.tenancy.limit_scope }
}

fn rate_limit(
    fields: &Fields<'_>,
    queue: &QueueName,
    default_scope: Scope,
) -> Result<Option<RateLimit>, Rejection> {
    let Some(raw) = fields.option("rate_limit") else { return Ok(None) };
    let value = serde_json::from_str(raw.get())
        .map_err(|_| wrong_type(raw, "rate_limit", "a JSON object"))?;
    let limit = parse_rate_limit(&value, queue, default_scope)?;
    Ok((!limit.numbers.is_empty() || names_a_key(&value)).then_some(limit))
}

/// A limit without numbers is kept if it names a key, because an operator may have limited the key.
fn names_a_key(value: &serde_json::Value) -> bool {
    value.get("key").is_some_and(|key| !key.is_null())
}

/// Parses a priority: a number, or one of the names that some clients use.
pub fn parse_priority(raw: &RawValue) -> Result<i16, Rejection> {
    let named = match raw.get() {
        "\"HIGH\"" | "\"high\"" => Some(10),
        "\"NORMAL\"" | "\"normal\"" => Some(0),
        "\"LOW\"" | "\"low\"" => Some(-10),
        _ => None,
    };
    let value = match named {
        Some(value) => value,
        None => integer(raw, "priority")?,
    };
    if PRIORITIES.contains(&value) {
        return Ok(value as i16);
    }
    Err(Rejection::value("priority", format!("is {value}; it must be from -100 to 100")))
}

fn timeout(fields: &Fields<'_>) -> Result<Option<u64>, Rejection> {
    let given = milliseconds(fields, "timeout", "timeout_ms")?;
    // 0 means the server's default.
    let given = given.filter(|(ms, _)| *ms != 0);
    match given {
        Some((ms, field)) if ms > MAX_TIMEOUT_MS => {
            Err(Rejection::value(field, "is longer than a year"))
        }
        other => Ok(other.map(|(ms, _)| ms)),
    }
}

fn visibility(fields: &Fields<'_>, rules: &Rules) -> Result<Option<u64>, Rejection> {
    match milliseconds(fields, "visibility_timeout", "visibility_timeout_ms")? {
        Some((0, field)) => Err(Rejection::value(field, "must be more than 0")),
        Some((ms, field)) if ms > rules.max_visibility_ms => Err(Rejection::value(
            field,
            format!("is {ms} ms; at most {} ms are allowed", rules.max_visibility_ms),
        )),
        other => Ok(other.map(|(ms, _)| ms)),
    }
}

/// Parses a length of time that has one member in seconds and one in milliseconds. Returns it in
/// milliseconds, with the name of the member.
fn milliseconds(
    fields: &Fields<'_>,
    in_seconds: &'static str,
    in_ms: &'static str,
) -> Result<Option<(u64, &'static str)>, Rejection> {
    let read = |name: &'static str, unit: u64| -> Result<Option<(u64, &'static str)>, Rejection> {
        let Some(raw) = fields.option(name) else {
            return Ok(None);
        };
        let value = u64::try_from(integer(raw, name)?)
            .map_err(|_| Rejection::value(name, "must not be negative"))?;
        Ok(Some((value.saturating_mul(unit), name)))
    };
    match (read(in_seconds, 1000)?, read(in_ms, 1)?) {
        (Some((a, _)), Some((b, _))) if a != b => {
            Err(Rejection::field(in_seconds, format!("and '{in_ms}' say different things")))
        }
        (a, b) => Ok(b.or(a)),
    }
}

fn start_at<'a>(
    fields: &Fields<'a>,
    rules: &Rules,
    present: Present,
) -> Result<Option<Time<'a>>, Rejection> {
    let named = |name| time(fields, name, present);
    let start = match (named("scheduled_at")?, named("delay_until")?) {
        (Some(a), Some(b)) if a.at != b.at => {
            return Err(Rejection::field("scheduled_at", "and 'delay_until' differ"));
        }
        (a, b) => a.or(b),
    };
    if start.as_ref().is_some_and(|t| t.at.0.saturating_sub(present.now.0) > rules.max_schedule_ms)
    {
        let days = rules.max_schedule_ms / 86_400_000;
        let name =
            if fields.option("scheduled_at").is_some() { "scheduled_at" } else { "delay_until" };
        return Err(Rejection::value(name, format!("is more than {days} days ahead")));
    }
    Ok(start)
}

fn time<'a>(
    fields: &Fields<'a>,
    name: &'static str,
    present: Present,
) -> Result<Option<Time<'a>>, Rejection> {
    let Some(raw) = fields.option(name) else {
        return Ok(None);
    };
    let text: Cow<'a, str> = match serde_json::from_str::<&'a str>(raw.get()) {
        Ok(borrowed) => Cow::Borrowed(borrowed),
        Err(_) => Cow::Owned(string(raw, name)?),
    };
    let when = parse_when(&text, present).map_err(|e| Rejection::field(name, e.to_string()))?;
    let is_utc = text.ends_with(['Z', 'z']) || text.ends_with("+00:00");
    let text = match when.given {
        Some(_) if is_utc => text,
        given => Cow::Owned(given.unwrap_or(when.at).to_string()),
    };
    Ok(Some(Time { at: when.at, text }))
}

fn directive(fields: &Fields<'_>, rules: &Rules) -> Option<Directive> {
    #[derive(serde::Deserialize)]
    struct Metadata<'a> {
        #[serde(borrow)]
        test_directive: Option<&'a str>,
    }
    if !rules.test_directives {
        return None;
    }
    let both = fields.unknown_options.iter().chain(&fields.unknown);
    let (_, raw) = both.into_iter().find(|(key, _)| key == "metadata")?;
    let metadata: Metadata<'_> = serde_json::from_str(raw.get()).ok()?;
    Directive::parse(metadata.test_directive?)
}

fn check_tags(raw: &RawValue) -> Result<(), Rejection> {
    serde_json::from_str::<Vec<Cow<'_, str>>>(raw.get())
        .map(|_| ())
        .map_err(|_| Rejection::field("tags", "must be an array of strings"))
}

fn boolean(raw: &RawValue, field: &'static str) -> Result<bool, Rejection> {
    serde_json::from_str(raw.get()).map_err(|_| wrong_type(raw, field, "true or false"))
}

fn integer(raw: &RawValue, field: &'static str) -> Result<i64, Rejection> {
    serde_json::from_str(raw.get()).map_err(|_| match json::type_name(raw) {
        "a number" => Rejection::field(field, format!("must be a whole number, not {}", raw.get())),
        _ => wrong_type(raw, field, "a whole number"),
    })
}
