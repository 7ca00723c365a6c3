//! `rota limits show`: shows one key in detail.

use rota_client::{Rate, RateLimit};

use super::list::{HEADER, cells};
use crate::commands::rate::{short, shown};
use crate::output::{Table, moment, relative};

pub(crate) fn describe(limit: &RateLimit) -> String {
    let mut table = Table::of_fields();
    table.field("key", &limit.key);
    table.field_if("scope", limit.scope.as_ref());
    table.field_if("tenant", limit.tenant_id.as_ref());
    table.field("concurrency", concurrency(limit).unwrap_or_else(|| "none".to_owned()));
    table.field("rate", rate(limit).unwrap_or_else(|| "none".to_owned()));
    let resets = limit.rate.as_ref().and_then(|rate| rate.window_resets_at.as_deref());
    table.field_if("window resets", resets.map(moment));
    table.field("throttle", throttle(limit).unwrap_or_else(|| "none".to_owned()));
    let next = limit.throttle.as_ref().and_then(|throttle| throttle.next_allowed_at.as_deref());
    table.field_if("next start", next.map(moment));
    table.field_if("on limit", limit.on_limit.as_ref());
    table.field("waiting", limit.waiting_count.to_string());
    table.field_if("paused until", limit.paused_until.as_deref().map(moment));
    table.field_if("pause reason", limit.pause_reason.as_ref());
    let declared = limit.declaration.as_ref();
    table.field_if(
        "declared",
        declared.map(|set| numbers(set.concurrency, set.rate.as_ref(), set.throttle.as_ref())),
    );
    let set = limit.overridden.as_ref();
    let instead = |numbers| format!("{numbers}, instead of all other numbers");
    table.field_if(
        "override",
        set.map(|set| instead(numbers(set.concurrency, set.rate.as_ref(), set.throttle.as_ref()))),
    );
    table.field_if("override ends", set.and_then(|set| set.expires_at.as_deref().map(moment)));
    let reason = set.and_then(|set| set.reason.as_ref()).or(limit.reason.as_ref());
    table.field_if("reason", reason);
    if limit.mixed {
        table.field("note", "its jobs carry different numbers; these are the smallest");
    }
    let mut partitions = Table::new(&HEADER).numbers_in([3, 4, 5, 6]).hide_first([1, 5, 4, 3]);
    limit.partitions.iter().flatten().for_each(|part| partitions.row(cells(part)));
    match partitions.finish() {
        none if none.is_empty() => table.take(),
        parts => format!("{}\n{parts}", table.take()),
    }
}

/// `3/5`.
pub(super) fn concurrency(limit: &RateLimit) -> Option<String> {
    let used = limit.concurrency.as_ref()?;
    Some(format!("{}/{}", used.active, concurrency_limit(limit)?))
}

/// `5`.
pub(super) fn concurrency_limit(limit: &RateLimit) -> Option<String> {
    Some(limit.concurrency.as_ref()?.limit?.to_string())
}

/// `40 of 100/1m`.
pub(super) fn rate(limit: &RateLimit) -> Option<String> {
    let used = limit.rate.as_ref()?;
    Some(format!("{} of {}", used.current_count, rate_limit(limit)?))
}

/// `100/1m`.
pub(super) fn rate_limit(limit: &RateLimit) -> Option<String> {
    let used = limit.rate.as_ref()?;
    Some(per(used.limit?, used.period.as_deref()))
}

/// `10/1s`.
pub(super) fn throttle(limit: &RateLimit) -> Option<String> {
    let used = limit.throttle.as_ref()?;
    Some(per(used.limit?, used.period.as_deref()))
}

/// Anything unusual about the key.
pub(super) fn notes(limit: &RateLimit) -> Vec<String> {
    let paused =
        limit.paused_until.as_deref().map(|time| format!("paused, ends {}", relative(time)));
    let overridden = limit.overridden.as_ref().map(|set| match &set.expires_at {
        Some(time) => format!("override, ends {}", relative(time)),
        None => "override".to_owned(),
    });
    let declared = (limit.declared && overridden.is_none()).then(|| "declared".to_owned());
    let mixed = limit.mixed.then(|| "mixed".to_owned());
    [paused, overridden, declared, mixed].into_iter().flatten().collect()
}

/// `concurrency 5, rate 50/1m`.
fn numbers(concurrency: Option<u64>, rate: Option<&Rate>, throttle: Option<&Rate>) -> String {
    let parts = [
        concurrency.map(|most| format!("concurrency {most}")),
        rate.map(|rate| format!("rate {}", shown(rate))),
        throttle.map(|rate| format!("throttle {}", shown(rate))),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    if known.is_empty() { "no limit".to_owned() } else { known.join(", ") }
}

fn per(limit: u64, period: Option<&str>) -> String {
    match period {
        Some(period) => format!("{limit}/{}", short(period)),
        None => limit.to_string(),
    }
}
