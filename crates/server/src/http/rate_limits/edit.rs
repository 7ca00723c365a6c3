//! Parses the body of a `PUT` to a rate limit.

use rota_engine::{NumbersEdit, PutLimit};
use rota_model::limit::{parse_feedback, parse_numbers};
use rota_model::time::Present;
use rota_model::{
    Feedback, LimitKey, Millis, Rate, Rejection, TenantId, duration, json as model_json,
};
use serde_json::{Map, Value, json};

use crate::http::body::Json;
use crate::http::error::ApiError;

const MEMBERS: [&str; 12] = [
    "limit",
    "key",
    "concurrency",
    "rate",
    "period",
    "max_per_second",
    "throttle",
    "feedback",
    "expires_at",
    "expires_in",
    "paused_until",
    "reason",
];
const MAX_REASON_BYTES: usize = 1_000;

/// A change to a rate limit.
pub(in crate::http) struct LimitEdit {
    /// New numbers, and when they expire.
    numbers: Option<(NumbersEdit, Option<Millis>)>,
    /// For whom a tenant's worker may pause the key.
    feedback: Option<Feedback>,
    /// Zero ends a pause.
    paused_until: Option<Millis>,
    reason: Option<String>,
}

impl LimitEdit {
    pub(super) fn parse(body: &Json, key: &LimitKey, present: Present) -> Result<Self, ApiError> {
        let mut members = body.object()?;
        model_json::check_members(
            members.keys().map(String::as_str),
            &MEMBERS,
            "",
            "a rate limit",
        )?;
        join_limit_and_period(&mut members, "limit")?;
        if members.get("key").is_some_and(|given| given.as_str() != Some(key)) {
            return Err(ApiError::validation("key", "'key' differs from the key in the path."));
        }
        let edit = numbers_edit(&members)?;
        let feedback = feedback(&members)?;
        let expires = expiry(&members, present)?;
        let paused_until = match members.get("paused_until") {
            None => None,
            Some(Value::Null) => Some(Millis::ZERO),
            Some(value) => Some(present.server_time(time(value, "paused_until")?)),
        };
        if paused_until.is_some_and(|until| until != Millis::ZERO && until <= present.now) {
            let text = "'paused_until' must be in the future.";
            return Err(
                ApiError::validation("paused_until", text).hint("Send null to end a pause.")
            );
        }
        if expires.is_some() && edit.is_empty() {
            return Err(ApiError::validation(
                "expires_at",
                "An expiry needs numbers that expire: concurrency, rate or throttle.",
            )
            .hint("To stop a key for a while, send paused_until."));
        }
        if expires.is_some() && feedback.is_some() {
            let text = "'feedback' belongs to a declaration, which does not expire.";
            return Err(ApiError::validation("feedback", text)
                .hint("Send it without expires_at and expires_in."));
        }
        if edit.is_empty() && feedback.is_none() && paused_until.is_none() {
            return Err(ApiError::validation("concurrency", "The body does not change the limit.")
                .hint("Send concurrency, rate, throttle, feedback or paused_until."));
        }
        Ok(Self {
            numbers: (!edit.is_empty()).then_some((edit, expires)),
            feedback,
            paused_until,
            reason: reason(&members)?,
        })
    }

    /// An edit that replaces all numbers without an expiry, from the configuration of a queue. Numbers
    /// that are left out are removed.
    pub fn replacement(members: &Map<String, Value>, within: &str) -> Result<Self, ApiError> {
        let numbers = parse_numbers(members, within)?;
        let edit = NumbersEdit {
            concurrency: Some(numbers.concurrency),
            rate: Some(numbers.rate),
            throttle: Some(numbers.throttle),
        };
        Ok(Self { numbers: Some((edit, None)), feedback: None, paused_until: None, reason: None })
    }

    /// Whether the edit sets numbers without an expiry.
    pub(super) fn declares(&self) -> bool {
        self.numbers.is_some_and(|(edit, expires)| expires.is_none() && sets_a_number(&edit))
    }

    /// Whether the edit only removes numbers or ends a pause.
    pub(super) fn only_removes(&self) -> bool {
        self.feedback.is_none()
            && self.paused_until.is_none_or(|until| until == Millis::ZERO)
            && !self.numbers.as_ref().is_some_and(|(edit, _)| sets_a_number(edit))
    }

    pub fn for_limit(self, key: LimitKey, tenant: Option<TenantId>) -> PutLimit {
        let Self { numbers, feedback, paused_until, reason } = self;
        PutLimit { key, tenant, numbers, feedback, paused_until, reason }
    }
}

/// Makes `rate` of `limit` and `period` beside it. `field` is the path of `limit`.
pub(in crate::http) fn join_limit_and_period(
    members: &mut Map<String, Value>,
    field: &'static str,
) -> Result<(), Rejection> {
    let Some(limit) = members.remove("limit") else { return Ok(()) };
    let period = members.remove("period").unwrap_or(Value::Null);
    let rate = json!({"limit": limit, "period": period});
    match members.get("rate").filter(|value| !value.is_null()) {
        None => drop(members.insert("rate".to_owned(), rate)),
        // The answer of a GET has both, with the same value.
        Some(given) if *given == rate => {}
        Some(_) => return Err(Rejection::value(field, "and 'rate' cannot both be given")),
    }
    Ok(())
}

fn sets_a_number(edit: &NumbersEdit) -> bool {
    let is_set = |rate: Option<Option<Rate>>| rate.flatten().is_some();
    edit.concurrency.flatten().is_some() || is_set(edit.rate) || is_set(edit.throttle)
}

/// The numbers in the body. Numbers that are absent stay as they are; null removes a number.
fn numbers_edit(members: &Map<String, Value>) -> Result<NumbersEdit, ApiError> {
    let numbers = parse_numbers(members, "rate_limit")?;
    let is_present = |names: &[&str]| names.iter().any(|name| members.contains_key(*name));
    Ok(NumbersEdit {
        concurrency: is_present(&["concurrency"]).then_some(numbers.concurrency),
        rate: is_present(&["rate", "max_per_second"]).then_some(numbers.rate),
        throttle: is_present(&["throttle"]).then_some(numbers.throttle),
    })
}

/// Null is the default again.
fn feedback(members: &Map<String, Value>) -> Result<Option<Feedback>, Rejection> {
    let given = members.contains_key("feedback").then(Feedback::default);
    Ok(parse_feedback(members, "rate_limit")?.or(given))
}

fn expiry(members: &Map<String, Value>, present: Present) -> Result<Option<Millis>, ApiError> {
    let member = |name: &str| members.get(name).filter(|value| !value.is_null());
    let (field, expires) = match (member("expires_at"), member("expires_in")) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(ApiError::invalid_request(
                "'expires_at' and 'expires_in' cannot both be given.",
            )
            .detail("field", "expires_in"));
        }
        (Some(value), None) => ("expires_at", present.server_time(time(value, "expires_at")?)),
        (None, Some(value)) => {
            let expected = || Rejection::field("expires_in", "must be a duration such as PT1H");
            let text = value.as_str().ok_or_else(expected)?;
            let ms = duration::parse_any(text).map_err(|_| expected())?;
            ("expires_in", Millis(present.now.0.saturating_add(ms).min(Millis::MAX.0)))
        }
    };
    if expires <= present.now {
        return Err(ApiError::validation(field, format!("'{field}' must be in the future.")));
    }
    Ok(Some(expires))
}

fn time(value: &Value, field: &'static str) -> Result<Millis, ApiError> {
    let expected = || Rejection::field(field, "must be a time such as 2026-02-13T13:00:00Z");
    let text = value.as_str().ok_or_else(expected)?;
    Ok(Millis::parse_rfc3339(text).map_err(|_| expected())?)
}

fn reason(members: &Map<String, Value>) -> Result<Option<String>, ApiError> {
    match members.get("reason") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= MAX_REASON_BYTES => Ok(Some(text.clone())),
        Some(_) => {
            let text = format!("must be a string of at most {MAX_REASON_BYTES} bytes");
            Err(Rejection::field("reason", text).into())
        }
    }
}
