//! `rota tenants show`: shows one tenant.

use rota_client::{Noisy, Tenant, Throttle};

use crate::commands::rate::shown;
use crate::output::{Table, decimal, moment, relative};

pub(super) fn describe(tenant: &Tenant) -> String {
    let limits = &tenant.limits;
    let count = |most: Option<u64>, at_zero: &str| match most {
        None => "none".to_owned(),
        Some(0) => format!("0 ({at_zero})"),
        Some(most) => most.to_string(),
    };
    const NO_JOBS: &str = "every job is rejected";
    let mut table = Table::of_fields();
    table.field("tenant", &tenant.tenant_id);
    table.field_if("configured by", tenant.origin.as_deref().map(origin));
    table.field_if("weight", tenant.fairness_weight.map(decimal));
    table.field("max concurrency", count(limits.max_concurrency, "no job starts"));
    table.field("max queue depth", count(limits.max_queue_depth, NO_JOBS));
    table.field("max scheduled", count(limits.max_scheduled, "every scheduled job is rejected"));
    table.field("max bytes", count(limits.max_bytes, NO_JOBS));
    let rate = limits.max_enqueue_rate.as_ref().map_or_else(
        || "none".to_owned(),
        |rate| match rate.limit {
            0 => format!("{} ({NO_JOBS})", shown(rate)),
            _ => shown(rate),
        },
    );
    table.field("max enqueue rate", rate);
    table.field_if("priority boost", tenant.priority_boost.map(|boost| boost.to_string()));
    table.field_if("max priority", tenant.max_priority.map(|most| most.to_string()));
    table.field_if("quota", tenant.quota.as_ref());
    let requests: Vec<String> =
        tenant.request_limits.iter().map(|(scope, limit)| format!("{scope} {limit}")).collect();
    table.field_if("request limits", (!requests.is_empty()).then(|| requests.join(", ")));
    table.field_if("throttled", tenant.throttle.as_ref().map(throttled));
    table.field_if("noisy", tenant.noisy.as_ref().map(noisy));
    table.field_if("the file says", tenant.file.as_ref().map(ToString::to_string));
    table.field_if("created", tenant.created_at.as_deref().map(moment));
    table.field_if("changed", tenant.updated_at.as_deref().map(moment));
    table.field_if("reason", tenant.reason.as_ref());
    table.take()
}

/// `queue_depth_ratio_exceeded: weight 10 -> 2 until ... (in 5m)`.
pub(super) fn throttled(throttle: &Throttle) -> String {
    let reason = throttle.reason.as_deref().or(throttle.action.as_deref()).unwrap_or("yes");
    let weight = match (throttle.original_weight, throttle.effective_weight) {
        (Some(before), Some(now)) => format!(", weight {} -> {}", decimal(before), decimal(now)),
        _ => String::new(),
    };
    let concurrency = match (throttle.original_concurrency, throttle.effective_concurrency) {
        (Some(before), Some(now)) => format!(", concurrency {before} -> {now}"),
        _ => String::new(),
    };
    let until = throttle.until.as_deref().map(|time| format!(", ends {}", relative(time)));
    format!("{reason}{weight}{concurrency}{}", until.unwrap_or_default())
}

/// `queue_depth 12 (threshold 10), since 3m ago, weight_reduced`.
pub(super) fn noisy(noisy: &Noisy) -> String {
    let mut text = noisy.signal.clone().unwrap_or_else(|| "yes".to_owned());
    text.extend(noisy.value.map(|value| format!(" {}", decimal(value))));
    text.extend(noisy.threshold.map(|most| format!(" (threshold {})", decimal(most))));
    text.extend(noisy.since.as_deref().map(|time| format!(", since {}", relative(time))));
    text.extend(noisy.action.as_ref().map(|action| format!(", {action}")));
    text
}

fn origin(origin: &str) -> &str {
    match origin {
        "default" => "nobody; the defaults count",
        "file" => "the settings file",
        "api" => "the API",
        other => other,
    }
}
