//! `rota pools show`: shows one pool.

use rota_client::{Pool, PoolTenants, StarvationPrevention};

use crate::commands::rate::short;
use crate::output::{Table, decimal, percent};

pub(super) fn describe(pool: &Pool) -> String {
    let mut table = Table::of_fields();
    table.field("pool", &pool.name);
    table.field("owner", pool.tenant_id.as_deref().unwrap_or("operator"));
    table.field_if("tenants", tenants(pool));
    table.field_if("configured by", pool.origin.as_ref());
    table.field("queues", queues(pool, ", "));
    table.field_if("strategy", pool.strategy.as_ref());
    table.field("isolated", if pool.isolated { "yes" } else { "no" });
    table.field("fair", if pool.fair { "yes" } else { "no" });
    table.field_if("no starvation", pool.starvation_prevention.as_ref().and_then(prevention));
    table.field_if("fairness scope", pool.fairness_scope.as_ref().map(|_| scope(pool)));
    table.field_if("workers", pool.active_workers.map(|workers| workers.to_string()));
    table.field("jobs", jobs(pool));
    table.field_if("busy", pool.utilization.map(percent));
    table.take()
}

/// The queues, with their weights if any.
pub(super) fn queues(pool: &Pool, between: &str) -> String {
    let weights = pool.weights.as_ref();
    let shown =
        pool.queues.iter().map(|queue| match weights.and_then(|weights| weights.get(queue)) {
            Some(weight) => format!("{queue}={}", decimal(*weight)),
            None => queue.clone(),
        });
    shown.collect::<Vec<_>>().join(between)
}

/// `pool`, or `queue (server's setting)`.
fn scope(pool: &Pool) -> String {
    let scope = pool.fairness_scope.as_deref().unwrap_or_default();
    let note = if pool.fairness_scope_inherited { " (server's setting)" } else { "" };
    format!("{scope}{note}")
}

/// The tenants that may use an operator's pool, if that is known.
pub(super) fn tenants(pool: &Pool) -> Option<String> {
    Some(match pool.tenants.as_ref()? {
        PoolTenants::All(_) => "all".to_owned(),
        PoolTenants::Listed(listed) if listed.is_empty() => "none".to_owned(),
        PoolTenants::Listed(listed) => listed.join(","),
    })
}

/// `12/20`.
pub(super) fn jobs(pool: &Pool) -> String {
    let active = pool.active_jobs.map_or_else(|| "-".to_owned(), |jobs| jobs.to_string());
    match pool.concurrency {
        Some(most) => format!("{active}/{most}"),
        None => active,
    }
}

fn prevention(prevention: &StarvationPrevention) -> Option<String> {
    let parts = [
        prevention
            .rotation_interval
            .as_deref()
            .map(|time| format!("each queue within {}", short(time))),
        prevention.min_dispatch_ratio.map(|ratio| format!("at least {} for each", percent(ratio))),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    match (prevention.enabled, known.is_empty()) {
        (false, _) => None,
        (true, true) => Some("yes".to_owned()),
        (true, false) => Some(known.join(", ")),
    }
}
