//! The JSON of rate limits.

use rota_engine::LimitView;
use rota_model::{LimitKey, LimitNumbers, OnLimit, Rate, Scope, duration};
use serde_json::{Value, json};

/// One limit: a key's counter for all tenants, or one tenant's partition of it.
pub(super) fn partition(view: &LimitView) -> Value {
    let numbers = view.numbers;
    let tenant = view.tenant.as_deref().or(view.key.namespace());
    let scope = if tenant.is_some() { Scope::Tenant } else { Scope::Global };
    let time = |time: rota_model::Millis| time.to_string();
    let mut value = json!({
        "key": view.key.local(),
        "scope": scope.as_str(),
        "active": view.active,
        "concurrency": numbers.concurrency.map(|limit| json!({
            "limit": limit,
            "active": view.active,
            "available": u64::from(limit).saturating_sub(view.active),
        })),
        "rate": numbers.rate.map(|rate| with_rate(rate, json!({
            "current_count": view.started.map_or(0, |(count, _)| count),
            "window_resets_at": view.started.and_then(|(_, resets)| resets).map(time),
        }))),
        "throttle": numbers.throttle.map(|rate| with_rate(rate, json!({
            "next_allowed_at": view.next_paced.map(time),
        }))),
        "on_limit": view.on_limit.unwrap_or(OnLimit::Wait).as_str(),
        "waiting_count": view.waiting,
        "waiting": view.waiting,
        "paused_until": view.paused_until.map(time),
        "pause_reason": view.pause_reason,
        "override": view.replaced.map(|(other, expires)| {
            let mut value = self::numbers(&other);
            value["expires_at"] = json!(time(expires));
            value["reason"] = json!(view.reason);
            value
        }),
        "declared": view.declared.is_some(),
        "declaration": view.declared.as_ref().map(|declared| {
            let mut value = self::numbers(declared);
            value["feedback"] = json!(view.feedback.as_str());
            value
        }),
        "mixed": view.mixed,
        "reason": view.reason,
    });
    // The admin UI and ojs-cli read the numbers at the top level.
    if let Some(rate) = numbers.rate {
        value = with_rate(rate, value);
    }
    if let Some(limit) = numbers.concurrency {
        value["available"] = json!(u64::from(limit).saturating_sub(view.active));
    }
    if let Some(tenant) = tenant {
        value["tenant_id"] = json!(tenant);
    }
    value
}

/// A key that is counted per tenant, with its partitions. `shared` is the counter for all tenants, if
/// the key has one too.
pub(super) fn with_partitions(
    key: &LimitKey,
    shared: Option<&LimitView>,
    partitions: &[Value],
) -> Value {
    let sum = |name: &str| {
        partitions.iter().filter_map(|partition| partition[name].as_u64()).sum::<u64>()
    };
    let mut value = shared.map_or_else(
        || {
            json!({
                "key": key,
                "scope": Scope::Tenant.as_str(),
                "active": sum("active"),
                "waiting_count": sum("waiting_count"),
                "waiting": sum("waiting_count"),
                "paused_until": null,
                "override": null,
                "declared": false,
                "mixed": false,
            })
        },
        partition,
    );
    value["partitions"] = json!(partitions);
    value
}

pub(in crate::http) fn numbers(numbers: &LimitNumbers) -> Value {
    let rate = |rate: Option<Rate>| rate.map(|rate| with_rate(rate, json!({})));
    json!({
        "concurrency": numbers.concurrency,
        "rate": rate(numbers.rate),
        "throttle": rate(numbers.throttle),
    })
}

fn with_rate(rate: Rate, mut value: Value) -> Value {
    value["limit"] = json!(rate.limit);
    value["period"] = json!(duration::format_iso8601(rate.period_ms as i64));
    value
}
