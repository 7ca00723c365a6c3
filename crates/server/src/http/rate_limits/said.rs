//! What a request says about a limit.

use rota_engine::{NumbersEdit, PutLimit};
use rota_model::limit::parse_numbers;
use rota_model::{LimitKey, Millis, Rate, Rejection, TenantId, duration};
use serde_json::{Map, Value};

use crate::http::body::Json;
use crate::http::error::ApiError;

const KNOWN: [&str; 10] = [
    "key",
    "concurrency",
    "rate",
    "period",
    "max_per_second",
    "throttle",
    "expires_at",
    "expires_in",
    "paused_until",
    "reason",
];
const LONGEST_REASON: usize = 1_000;

pub(in crate::http) struct Said {
    numbers: Option<(NumbersEdit, Option<Millis>)>,
    paused_until: Option<Millis>,
    reason: Option<String>,
}

impl Said {
    pub(super) fn read(body: &Json, key: &LimitKey, now: Millis) -> Result<Self, ApiError> {
        let members = body.object()?;
        if let Some(unknown) = members.keys().find(|name| !KNOWN.contains(&name.as_str())) {
            return Err(Rejection::value(unknown.clone(), "is not a part of a rate limit")
                .hint(
                    "Known are concurrency, rate, throttle, expires_at, expires_in, paused_until \
                     and reason.",
                )
                .into());
        }
        if members.get("key").is_some_and(|given| given.as_str() != Some(key)) {
            return Err(ApiError::validation("key", "'key' is not the one in the path."));
        }
        let edit = edit(&members)?;
        let expires = expiry(&members, now)?;
        let paused_until = match members.get("paused_until") {
            None => None,
            Some(Value::Null) => Some(Millis::ZERO),
            Some(value) => Some(time(value, "paused_until")?),
        };
        if paused_until.is_some_and(|at| at != Millis::ZERO && at <= now) {
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
        if edit.is_empty() && paused_until.is_none() {
            return Err(ApiError::validation(
                "concurrency",
                "The body says nothing about the limit.",
            )
            .hint("Send concurrency, rate, throttle or paused_until."));
        }
        Ok(Self {
            numbers: (!edit.is_empty()).then_some((edit, expires)),
            paused_until,
            reason: reason(&members)?,
        })
    }

    /// Numbers alone, for good, as they stand in the configuration of a queue. Those that are not given
    /// go.
    pub fn declared(members: &Map<String, Value>, within: &str) -> Result<Self, ApiError> {
        let numbers = parse_numbers(members, within)?;
        let edit = NumbersEdit {
            concurrency: Some(numbers.concurrency),
            rate: Some(numbers.rate),
            throttle: Some(numbers.throttle),
        };
        Ok(Self { numbers: Some((edit, None)), paused_until: None, reason: None })
    }

    /// Numbers that hold from now on.
    pub(super) fn declares(&self) -> bool {
        self.numbers.is_some_and(|(edit, expires)| expires.is_none() && !ends(&edit))
    }

    /// It says nothing that is new: only that something is over.
    pub(super) fn only_ends(&self) -> bool {
        self.paused_until.is_none_or(|until| until == Millis::ZERO)
            && self.numbers.as_ref().is_none_or(|(edit, _)| ends(edit))
    }

    pub fn about(self, key: LimitKey, tenant: Option<TenantId>) -> PutLimit {
        let Self { numbers, paused_until, reason } = self;
        PutLimit { key, tenant, numbers, paused_until, reason }
    }
}

fn ends(edit: &NumbersEdit) -> bool {
    let begins = |rate: Option<Option<Rate>>| rate.flatten().is_some();
    edit.concurrency.flatten().is_none() && !begins(edit.rate) && !begins(edit.throttle)
}

/// What is not named stays; null takes away.
fn edit(members: &Map<String, Value>) -> Result<NumbersEdit, ApiError> {
    let numbers = parse_numbers(members, "rate_limit")?;
    let named = |names: &[&str]| names.iter().any(|name| members.contains_key(*name));
    Ok(NumbersEdit {
        concurrency: named(&["concurrency"]).then_some(numbers.concurrency),
        rate: named(&["rate", "max_per_second"]).then_some(numbers.rate),
        throttle: named(&["throttle"]).then_some(numbers.throttle),
    })
}

fn expiry(members: &Map<String, Value>, now: Millis) -> Result<Option<Millis>, ApiError> {
    let given = |name: &str| members.get(name).filter(|value| !value.is_null());
    let (field, at) = match (given("expires_at"), given("expires_in")) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(ApiError::invalid_request("Both expires_at and expires_in are given.")
                .detail("field", "expires_in"));
        }
        (Some(value), None) => ("expires_at", time(value, "expires_at")?),
        (None, Some(value)) => {
            let expected = || Rejection::field("expires_in", "must be a duration such as PT1H");
            let text = value.as_str().ok_or_else(expected)?;
            let ms = duration::parse_any(text).map_err(|_| expected())?;
            ("expires_in", Millis(now.0.saturating_add(ms).min(Millis::MAX.0)))
        }
    };
    if at <= now {
        return Err(ApiError::validation(field, format!("'{field}' must be in the future.")));
    }
    Ok(Some(at))
}

fn time(value: &Value, field: &'static str) -> Result<Millis, ApiError> {
    let expected = || Rejection::field(field, "must be a time such as 2026-02-13T13:00:00Z");
    let text = value.as_str().ok_or_else(expected)?;
    Ok(Millis::parse_rfc3339(text).map_err(|_| expected())?)
}

fn reason(members: &Map<String, Value>) -> Result<Option<String>, ApiError> {
    match members.get("reason") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= LONGEST_REASON => Ok(Some(text.clone())),
        Some(_) => {
            let text = format!("must be a text of at most {LONGEST_REASON} bytes");
            Err(Rejection::field("reason", text).into())
        }
    }
}
