//! `rota limits show`.

use rota_client::{Override, RateLimit};

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
    table.field_if("set to", limit.overridden.as_ref().map(overridden));
    table.field_if(
        "set until",
        limit.overridden.as_ref().and_then(|set| set.expires_at.as_deref().map(moment)),
    );
    table.field_if("set because", limit.overridden.as_ref().and_then(|set| set.reason.clone()));
    if limit.mixed {
        table.field("note", "its jobs carry different numbers; these are the smallest");
    }
    let mut partitions = Table::new(&HEADER).numbers_in([3, 4, 5, 6]);
    limit.partitions.iter().flatten().for_each(|part| partitions.row(cells(part)));
    match partitions.take() {
        none if none.is_empty() => table.take(),
        parts => format!("{}\n{parts}", table.take()),
    }
}

/// `3/5`.
pub(super) fn concurrency(limit: &RateLimit) -> Option<String> {
    let used = limit.concurrency.as_ref()?;
    Some(format!("{}/{}", used.active, used.limit?))
}

/// `40 of 100/1m`.
pub(super) fn rate(limit: &RateLimit) -> Option<String> {
    let used = limit.rate.as_ref()?;
    Some(format!("{} of {}", used.current_count, per(used.limit?, used.period.as_deref())))
}

/// `10/1s`.
pub(super) fn throttle(limit: &RateLimit) -> Option<String> {
    let used = limit.throttle.as_ref()?;
    Some(per(used.limit?, used.period.as_deref()))
}

/// What is unusual about it.
pub(super) fn notes(limit: &RateLimit) -> Vec<String> {
    let paused =
        limit.paused_until.as_deref().map(|time| format!("paused, ends {}", relative(time)));
    let set = limit.overridden.as_ref().map(|set| match &set.expires_at {
        Some(time) => format!("set, ends {}", relative(time)),
        None => "set".to_owned(),
    });
    let declared = (limit.declared && set.is_none()).then(|| "declared".to_owned());
    let mixed = limit.mixed.then(|| "mixed".to_owned());
    [paused, set, declared, mixed].into_iter().flatten().collect()
}

fn overridden(set: &Override) -> String {
    let parts = [
        set.concurrency.map(|most| format!("concurrency {most}")),
        set.rate.as_ref().map(|rate| format!("rate {}", shown(rate))),
        set.throttle.as_ref().map(|rate| format!("throttle {}", shown(rate))),
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
