//! The JSON of tenants.

use rota_engine::{Change, ConfigOrigin, ShardView, TenantView, Throttle, Totals};
use rota_model::{Millis, Rate, State, TenantConfig, duration};
use serde_json::{Value, json};

use crate::http::queues::merge;

/// A tenant in a list.
pub(super) fn summary(view: &TenantView) -> Value {
    json!({
        "tenant_id": view.id,
        "id": view.id,
        "name": view.id,
        "origin": view.origin.as_str(),
        "jobs": jobs(view),
        "depth": view.jobs.depth(),
        "fairness": fairness(view),
        "throttled": view.throttle.is_some(),
        "noisy": noisy(view),
        "created_at": created(view),
    })
}

/// Everything about a tenant, at the top level and again in `tenant`.
pub(super) fn details(view: &TenantView, totals: &Totals, shards: &[ShardView]) -> Value {
    let mut shown = config(&view.config);
    let more = json!({
        "tenant_id": view.id,
        "origin": view.origin.as_str(),
        "configured": view.origin != ConfigOrigin::Default,
        // The weight in effect, even if none is configured.
        "fairness_weight": number(view.weight.value()),
        "throttle": view.throttle.as_ref().map(throttle),
        "noisy": noisy(view),
        "stats": stats(view, totals, shards),
        "file": view.file.as_ref().map(config),
        "created_at": created(view),
        "updated_at": view.updated.map(|time: Millis| time.to_string()),
        "reason": view.reason,
    });
    merge(&mut shown, &more);
    let copy = shown.clone();
    shown["tenant"] = copy;
    shown
}

/// A tenant that is configured and has had no jobs has no creation time.
fn created(view: &TenantView) -> Option<String> {
    (view.created.0 > 0).then(|| view.created.to_string())
}

pub(super) fn stats(view: &TenantView, totals: &Totals, shards: &[ShardView]) -> Value {
    let total: u64 = State::ALL.into_iter().map(|state| totals.of(state)).sum();
    json!({
        "tenant_id": view.id,
        "jobs": jobs(view),
        "throughput": {
            "processed_per_minute": view.minute.processed(),
            "enqueued_per_minute": view.minute.enqueued,
        },
        "limits": limit_usage(view),
        "fairness": fairness(view),
        "total_jobs": total,
        "depth": view.jobs.depth(),
        "bytes": view.jobs.bytes,
        "stored_bytes": view.stored,
        "throttle": view.throttle.as_ref().map(throttle),
        "noisy": noisy(view),
        "queues": shards.iter().map(shard).collect::<Vec<_>>(),
    })
}

/// A tenant's configuration.
pub(super) fn config(config: &TenantConfig) -> Value {
    json!({
        "limits": {
            "max_concurrency": config.max_concurrency,
            "max_enqueue_rate": config.max_enqueue_rate.map(rate),
            "max_queue_depth": config.max_queue_depth,
            "max_scheduled": config.max_scheduled,
            "max_bytes": config.max_bytes,
        },
        "fairness_weight": config.weight.map(|weight| number(weight.value())),
        "priority_boost": config.priority_boost,
        "max_priority": config.max_priority,
        "quota": config.quota.unwrap_or_default().as_str(),
        "request_limits": config.request_limits,
    })
}

/// Each limit with its current usage.
pub(super) fn limit_usage(view: &TenantView) -> Value {
    let config = &view.config;
    json!({
        "max_concurrency": {"limit": view.cap, "current": view.jobs.count(State::Active)},
        "max_enqueue_rate": {
            "limit": config.max_enqueue_rate.map(|rate| rate.limit),
            "period": config.max_enqueue_rate.map(period),
            "current": config.max_enqueue_rate.map(|_| view.enqueued_in_window.unwrap_or(0)),
        },
        "max_queue_depth": {"limit": config.max_queue_depth, "current": view.jobs.depth()},
        "max_scheduled": {"limit": config.max_scheduled, "current": view.jobs.count(State::Scheduled)},
        "max_bytes": {"limit": view.max_bytes, "current": view.stored},
    })
}

pub(super) fn change(change: &Change) -> Value {
    json!({
        "at": change.at.to_string(),
        "what": change.what,
        "reason": change.reason,
        "before": change.before.as_ref().map(config),
        "after": change.after.as_ref().map(config),
    })
}

/// A JSON number, without a fraction if it has none.
pub(in crate::http) fn number(value: f64) -> Value {
    if value.fract() == 0.0 { json!(value as i64) } else { json!(value) }
}

fn jobs(view: &TenantView) -> Value {
    json!({
        "available": view.jobs.count(State::Available),
        "active": view.jobs.count(State::Active),
        "scheduled": view.jobs.count(State::Scheduled),
        "retryable": view.jobs.count(State::Retryable),
        "pending": view.jobs.count(State::Pending),
        "completed_24h": view.day.completed,
        "failed_24h": view.day.failed,
    })
}

fn fairness(view: &TenantView) -> Value {
    json!({
        "weight": number(view.weight.value()),
        "effective_weight": number(view.effective_weight.value()),
        "effective_share": view.entitled,
        "actual_share": view.actual,
    })
}

pub(in crate::http) fn throttle(throttle: &Throttle) -> Value {
    let mut shown = json!({
        "reason": throttle.reason,
        "action": "weight_reduced",
        "original_weight": number(throttle.original.value()),
        "effective_weight": number(throttle.effective.value()),
        "since": throttle.since.to_string(),
        "until": throttle.until.to_string(),
    });
    if let Some((original, effective)) = throttle.concurrency {
        shown["action"] = json!("concurrency_reduced");
        shown["original_concurrency"] = json!(original);
        shown["effective_concurrency"] = json!(effective);
    }
    shown
}

/// The signal by which the tenant is noisy, while it is.
fn noisy(view: &TenantView) -> Option<Value> {
    view.noisy.as_ref().map(|noisy| {
        json!({
            "signal": noisy.signal,
            "value": number(noisy.value),
            "threshold": number(noisy.threshold),
            "since": noisy.since.to_string(),
            "action": if view.throttle.is_some() { "throttled" } else { "none" },
        })
    })
}

fn shard(view: &ShardView) -> Value {
    let queue = view.queue.local();
    json!({
        "name": queue,
        "shard": format!("shard:{}:{queue}", view.tenant),
        "available": view.jobs.count(State::Available),
        "active": view.jobs.count(State::Active),
        "scheduled": view.jobs.count(State::Scheduled),
        "retryable": view.jobs.count(State::Retryable),
        "pending": view.jobs.count(State::Pending),
        "bytes": view.jobs.bytes,
        "paused": view.paused.is_some(),
    })
}

fn rate(rate: Rate) -> Value {
    json!({"limit": rate.limit, "period": period(rate)})
}

fn period(rate: Rate) -> String {
    duration::format_iso8601(i64::try_from(rate.period_ms).unwrap_or(i64::MAX))
}
