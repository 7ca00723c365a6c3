//! Routes that create and configure queues: concurrency, retention, rate limit and bounds.

use axum::http::StatusCode;
use rota_engine::{Backpressure, Bounds, LimitView, QueueSettings};
use rota_model::json::check_members;
use rota_model::{DeadLetterSettings, LimitKey, QueueName, Rejection, duration};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::dead_letter_config;
use crate::http::body::{self, Json};
use crate::http::error::{ApiError, ApiResult};
use crate::http::params::PathName;
use crate::http::queues::{self, changed, find};
use crate::http::rate_limits::{self, LimitEdit, join_limit_and_period, numbers_json};
use crate::http::{Access, reply};

/// The default warning threshold, in thousandths of a bound.
const DEFAULT_WARN_AT: u32 = 800;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigBody {
    concurrency: Option<u32>,
    retention: Option<Retention>,
    #[serde(default, deserialize_with = "present")]
    rate_limit: Option<Value>,
    backpressure: Option<BoundsBody>,
    max_depth: Option<Value>,
    max_size: Option<Value>,
    max_size_bytes: Option<Value>,
    #[serde(alias = "overflow_policy")]
    strategy: Option<Value>,
    warning_threshold: Option<Value>,
    per_tenant: Option<TenantBoundsBody>,
    dead_letter: Option<Value>,
}

/// Members of a queue's configuration that the specification has and this server does not.
const UNSERVED: [&str; 9] = [
    "visibility_timeout",
    "default_timeout",
    "default_retry",
    "dead_letter_queue",
    "dead_letter_max_size",
    "dead_letter_ttl",
    "allowed_job_types",
    "producers",
    "policy",
];

/// How long finished jobs are kept: one duration for all, or one for each state.
#[derive(Deserialize)]
#[serde(untagged, expecting = "'retention' must be a duration, or an object with durations")]
enum Retention {
    All(String),
    Each(RetentionBody),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RetentionBody {
    completed: Option<String>,
    cancelled: Option<String>,
    discarded: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundsBody {
    max_depth: Option<Value>,
    max_size: Option<Value>,
    max_size_bytes: Option<Value>,
    strategy: Option<Value>,
    warning_threshold: Option<Value>,
    per_tenant: Option<TenantBoundsBody>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TenantBoundsBody {
    max_depth: Option<Value>,
    max_size: Option<Value>,
    max_size_bytes: Option<Value>,
}

/// Replaces the queue's settings; the server's defaults apply to those that are left out. The queue's
/// rate limit is changed only if `rate_limit` is present.
pub(in crate::http) async fn configure(app: Access, name: PathName, body: Json) -> ApiResult {
    app.operator_if_shared("Configuring a queue")?;
    let queue = app.queue(&name.queue()?)?;
    let (settings, limit) = parse_config(body.object()?)?;
    check_caller(&app, &settings)?;
    let view = changed(app.configure_queue(queue.clone(), settings).await?)?;
    put_limit(&app, &queue, limit).await?;
    let configuration = config_json(&app, &queue, &view.settings).await?;
    Ok(reply::ok(&json!({
        "name": queue.local(), "configuration": configuration, "config": configuration,
    })))
}

/// A queue's configuration.
pub(in crate::http) async fn show(app: Access, name: PathName) -> ApiResult {
    let view = find(&app, &name).await?;
    let configuration = config_json(&app, &view.name, &view.settings).await?;
    Ok(reply::ok(&json!({
        "name": view.name.local(), "configuration": configuration, "config": configuration,
    })))
}

/// Creates a queue with its configuration, which is in `config` or beside the name.
pub(in crate::http) async fn create(app: Access, body: Json) -> ApiResult {
    app.operator_if_shared("Creating a queue")?;
    let mut members = body.object()?;
    let name = match members.remove("name") {
        Some(Value::String(name)) => QueueName::parse(&name)
            .map_err(|error| ApiError::invalid_request(format!("The queue's name {error}.")))?,
        Some(_) => return Err(Rejection::field("name", "must be a string").into()),
        None => return Err(Rejection::field("name", "is required").into()),
    };
    let config = match members.remove("config") {
        None => members,
        Some(Value::Object(config)) if members.is_empty() => config,
        Some(_) => {
            let text = "must be an object, and beside 'name' the only member";
            return Err(Rejection::field("config", text).into());
        }
    };
    app.check_queue(&name)?;
    let queue = app.queue(&name)?;
    let (settings, limit) = parse_config(config)?;
    check_caller(&app, &settings)?;
    let view = changed(app.create_queue(queue.clone(), settings).await?)?;
    put_limit(&app, &queue, limit).await?;
    let configuration = config_json(&app, &queue, &view.settings).await?;
    let mut value = queues::summary(&view);
    value["state"] = json!(queues::status(&view));
    value["queue"] = queues::summary(&view);
    value["configuration"] = configuration.clone();
    value["config"] = configuration;
    Ok(reply::json(StatusCode::CREATED, &value))
}

/// The settings in a configuration, and the change of the queue's rate limit, if it has one.
fn parse_config(
    members: Map<String, Value>,
) -> Result<(QueueSettings, Option<LimitEdit>), ApiError> {
    if let Some(unserved) = members.keys().find(|name| UNSERVED.contains(&name.as_str())) {
        let text = format!("This server does not support '{unserved}' of a queue yet.");
        return Err(ApiError::unsupported(text).detail("field", unserved.as_str()));
    }
    let mut body: ConfigBody = body::parse(&Value::Object(members).to_string())?;
    let limit = body.rate_limit.take().map(|value| parse_rate_limit(&value)).transpose()?;
    Ok((settings(body)?, limit))
}

/// A tenant that has its own queues may keep its finished jobs for less time than the server does, but not
/// for longer.
fn check_caller(app: &Access, settings: &QueueSettings) -> Result<(), ApiError> {
    dead_letter_config::check_caller(app, settings.dead_letter.as_deref())?;
    if app.is_operator() {
        return Ok(());
    }
    let server = &app.settings.retention;
    let of_tenant = [
        ("completed", settings.completed_ms, server.completed),
        ("cancelled", settings.cancelled_ms, server.cancelled),
        ("discarded", settings.discarded_ms, server.discarded),
    ];
    for (state, ms, most) in of_tenant {
        let most = most.map(|most| i64::try_from(most.as_millis()).unwrap_or(i64::MAX));
        if let (Some(ms), Some(most)) = (ms, most)
            && i64::try_from(ms).map_or(true, |ms| ms > most)
        {
            let most = duration::format_iso8601(most);
            let text = format!("must be at most {most} in a tenant's request");
            let hint = format!("The limit of the server is retention.{state}.");
            return Err(Rejection::value(format!("retention.{state}"), text).hint(hint).into());
        }
    }
    Ok(())
}

async fn put_limit(
    app: &Access,
    queue: &QueueName,
    edit: Option<LimitEdit>,
) -> Result<(), ApiError> {
    let Some(edit) = edit else { return Ok(()) };
    let put = edit.for_limit(LimitKey::of_queue(queue), None);
    rate_limits::changed(app.put_limit(put).await?)?;
    Ok(())
}

/// The JSON of a queue's settings and rate limit.
pub(super) async fn config_json(
    app: &Access,
    queue: &QueueName,
    settings: &QueueSettings,
) -> Result<Value, ApiError> {
    let limit = rate_limits::look(app, LimitKey::of_queue(queue), None).await?;
    let period = |ms: Option<u64>| ms.map(|ms| duration::format_iso8601(ms as i64));
    Ok(json!({
        "concurrency": settings.concurrency,
        "retention": {
            "completed": period(settings.completed_ms),
            "cancelled": period(settings.cancelled_ms),
            "discarded": period(settings.discarded_ms),
        },
        "rate_limit": limit.as_ref().and_then(limit_json),
        "max_size": settings.bounds.map(|bounds| bounds.max_depth).filter(|most| *most > 0),
        "backpressure": settings.bounds.as_ref().map(bounds_json),
        "dead_letter": settings.dead_letter.as_deref().map(dead_letter_config::json),
    }))
}

fn limit_json(view: &LimitView) -> Option<Value> {
    view.declared.as_ref().map(|numbers| {
        let mut value = numbers_json(numbers);
        // The shape in the specification's document on queues.
        if let Some(rate) = numbers.rate {
            value["limit"] = json!(rate.limit);
            value["period"] = value["rate"]["period"].clone();
        }
        value
    })
}

fn bounds_json(bounds: &Bounds) -> Value {
    json!({
        "max_depth": bounds.max_depth,
        "max_size_bytes": bounds.max_bytes,
        "strategy": bounds.strategy.as_str(),
        "warning_threshold": f64::from(bounds.warn_at) / 1_000.0,
        "per_tenant": {
            "max_depth": bounds.tenant_max_depth,
            "max_size_bytes": bounds.tenant_max_bytes,
        },
    })
}

fn settings(body: ConfigBody) -> Result<QueueSettings, ApiError> {
    if body.concurrency == Some(0) {
        return Err(ApiError::validation("concurrency", "'concurrency' must be at least 1.")
            .hint("Pause the queue to stop it."));
    }
    let retention = match body.retention {
        None => RetentionBody::default(),
        Some(Retention::Each(each)) => each,
        Some(Retention::All(all)) => RetentionBody {
            completed: Some(all.clone()),
            cancelled: Some(all.clone()),
            discarded: Some(all),
        },
    };
    let top_level = BoundsBody {
        max_depth: body.max_depth,
        max_size: body.max_size,
        max_size_bytes: body.max_size_bytes,
        strategy: body.strategy,
        warning_threshold: body.warning_threshold,
        per_tenant: body.per_tenant,
    };
    // A configuration that is shown has the depth in both places.
    let only_depth = top_level.max_size_bytes.is_none()
        && top_level.strategy.is_none()
        && top_level.warning_threshold.is_none()
        && top_level.per_tenant.is_none();
    let nested = body.backpressure.map(|body| bounds(body, "backpressure.")).transpose()?;
    let bounds = match (nested.flatten(), bounds(top_level, "")?) {
        (Some(nested), Some(top)) if only_depth && top.max_depth == nested.max_depth => {
            Some(nested)
        }
        (Some(_), Some(_)) => {
            return Err(ApiError::invalid_request(
                "Different bounds cannot be given in 'backpressure' and at the top level.",
            )
            .detail("field", "backpressure"));
        }
        (nested, top_level) => nested.or(top_level),
    };
    let dead_letter = body.dead_letter.filter(|value| !value.is_null());
    let dead_letter = dead_letter.map(|value| DeadLetterSettings::parse(&value)).transpose()?;
    Ok(QueueSettings {
        bounds,
        dead_letter: dead_letter.map(Into::into),
        concurrency: body.concurrency,
        completed_ms: retention_ms(retention.completed, "completed")?,
        cancelled_ms: retention_ms(retention.cancelled, "cancelled")?,
        discarded_ms: retention_ms(retention.discarded, "discarded")?,
    })
}

/// The bounds in `body`; `None` if it has no members. `within` is the prefix of its fields' names.
fn bounds(body: BoundsBody, within: &str) -> Result<Option<Bounds>, ApiError> {
    let only_bounds = body.strategy.is_none() && body.warning_threshold.is_none();
    let per_tenant = body.per_tenant.unwrap_or_default();
    let max_depth = depth(body.max_depth, body.max_size, within)?;
    let max_bytes = whole_number(body.max_size_bytes, within, "max_size_bytes")?;
    let within_tenant = format!("{within}per_tenant.");
    let tenant_max_depth = depth(per_tenant.max_depth, per_tenant.max_size, &within_tenant)?;
    let tenant_max_bytes =
        whole_number(per_tenant.max_size_bytes, &within_tenant, "max_size_bytes")?;
    let all_bounds = [max_depth, max_bytes, tenant_max_depth, tenant_max_bytes];
    if only_bounds && all_bounds.iter().all(Option::is_none) {
        return Ok(None);
    }
    Ok(Some(Bounds {
        max_depth: max_depth.unwrap_or(0),
        max_bytes: max_bytes.unwrap_or(0),
        tenant_max_depth: tenant_max_depth.unwrap_or(0),
        tenant_max_bytes: tenant_max_bytes.unwrap_or(0),
        strategy: strategy(body.strategy, within)?,
        warn_at: threshold(body.warning_threshold, within)?,
    }))
}

/// The bound on jobs, which the specification's documents call `max_depth` or `max_size`.
fn depth(
    max_depth: Option<Value>,
    max_size: Option<Value>,
    within: &str,
) -> Result<Option<u64>, ApiError> {
    let depth = whole_number(max_depth, within, "max_depth")?;
    let size = whole_number(max_size, within, "max_size")?;
    match (depth, size) {
        (Some(depth), Some(size)) if depth != size => {
            let field = format!("{within}max_size");
            Err(ApiError::validation(
                &field,
                "'max_depth' and 'max_size' mean the same, but their values differ.",
            ))
        }
        (depth, size) => Ok(depth.or(size)),
    }
}

fn whole_number(value: Option<Value>, within: &str, name: &str) -> Result<Option<u64>, ApiError> {
    let Some(value) = value else { return Ok(None) };
    let number = value.as_u64().filter(|number| i64::try_from(*number).is_ok());
    number.map(Some).ok_or_else(|| {
        let text = "must be a whole number; 0 means no bound";
        Rejection::value(format!("{within}{name}"), text).into()
    })
}

fn strategy(value: Option<Value>, within: &str) -> Result<Backpressure, ApiError> {
    let Some(value) = value else { return Ok(Backpressure::Reject) };
    value.as_str().and_then(Backpressure::parse).ok_or_else(|| {
        let text = "must be one of reject, block and drop_oldest";
        Rejection::value(format!("{within}strategy"), text).into()
    })
}

fn threshold(value: Option<Value>, within: &str) -> Result<u32, ApiError> {
    let Some(value) = value else { return Ok(DEFAULT_WARN_AT) };
    let part = value.as_f64().filter(|part| (0.0..=1.0).contains(part));
    part.map(|part| (part * 1_000.0).round() as u32).ok_or_else(|| {
        let text = "must be a number from 0 to 1";
        Rejection::value(format!("{within}warning_threshold"), text).into()
    })
}

/// Parses `rate_limit`. `{"limit", "period"}` is a rate; the other members are those of a rate limit.
/// Null removes the limit.
fn parse_rate_limit(value: &Value) -> Result<LimitEdit, ApiError> {
    let none = Map::new();
    let members = match value {
        Value::Null => &none,
        Value::Object(members) => members,
        _ => return Err(Rejection::field("rate_limit", "must be an object").into()),
    };
    const MEMBERS: [&str; 6] =
        ["limit", "period", "concurrency", "rate", "throttle", "max_per_second"];
    let names = members.keys().map(String::as_str);
    check_members(names, &MEMBERS, "rate_limit", "a queue's rate limit")?;
    let mut members = members.clone();
    join_limit_and_period(&mut members, "rate_limit.limit")?;
    LimitEdit::replacement(&members, "rate_limit")
}

fn retention_ms(text: Option<String>, state: &str) -> Result<Option<u64>, ApiError> {
    let Some(text) = text else { return Ok(None) };
    let ms = duration::parse_any(&text)
        .map_err(|e| Rejection::value(format!("retention.{state}"), format!("is '{text}': {e}")))?;
    Ok(Some(u64::try_from(ms).unwrap_or(0)))
}

/// Deserializes null as `Some(Value::Null)`, which distinguishes it from an absent member.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}
