//! The route for a tenant's usage per hour or day.

use std::collections::BTreeMap;

use rota_model::usage::{Usage, UsagePer};
use rota_model::{Millis, TenantId};
use serde_json::{Value, json};

use super::{id_of, unknown};
use crate::http::error::{ApiError, ApiResult, excerpt};
use crate::http::params::{Params, PathName};
use crate::http::{Access, reply};

/// More than there can be: hours are kept for 400 days at most.
const MAX_PER_PAGE: u64 = 10_000;
/// Attempts to read memory and disk consistently: usage may be written between the two reads.
const MAX_ATTEMPTS: usize = 20;

pub(in crate::http) async fn usage(app: Access, name: PathName, params: Params) -> ApiResult {
    let id = id_of(&app, &name)?;
    app.check_all_queues("The usage of a tenant")?;
    let range = Range::from_params(&app, &params)?;
    let per_page = params.number("per_page", 1, MAX_PER_PAGE, 100)?;
    let page = params.number("page", 1, 1_000_000, 1)?;
    let periods = find(&app, &id, range).await?.ok_or_else(|| unknown(&name))?;
    let mut total = Usage::default();
    periods.values().for_each(|usage| total.add(usage));
    let skip = (page - 1) * per_page;
    let shown = periods.iter().skip(skip as usize).take(per_page as usize);
    let items: Vec<Value> = shown.map(|(at, usage)| item(range.per, *at, usage)).collect();
    let has_more = skip + per_page < periods.len() as u64;
    Ok(reply::ok(&json!({
        "tenant_id": id,
        "per": range.per.as_str(),
        "from": range.from.to_string(),
        "to": range.to.to_string(),
        "items": items,
        "total": figures(&total),
        "pagination": {
            "total": periods.len(), "page": page, "per_page": per_page, "has_more": has_more,
        },
    })))
}

/// The periods that start at or after `from` and before `to`.
#[derive(Clone, Copy)]
struct Range {
    per: UsagePer,
    from: Millis,
    to: Millis,
}

impl Range {
    fn from_params(app: &Access, params: &Params) -> Result<Self, ApiError> {
        let per = match params.get("per") {
            None | Some("hour") => UsagePer::Hour,
            Some("day") => UsagePer::Day,
            Some(other) => {
                let text = format!("'per' is '{}'; it must be hour or day.", excerpt(other));
                return Err(ApiError::invalid_request(text).detail("field", "per"));
            }
        };
        let now = app.now();
        let (default_periods, kept) = match per {
            UsagePer::Hour => (23, app.settings.retention.usage_hours),
            UsagePer::Day => (29, app.settings.retention.usage_days),
        };
        let to = params.time("to")?.unwrap_or(Millis(now.0 + 1));
        let since = now.saturating_sub_ms(default_periods * per.ms());
        let from = per.start_of(params.time("from")?.unwrap_or(since.min(to)));
        if from > to {
            return Err(ApiError::invalid_request("'from' is after 'to'.")
                .detail("field", "from")
                .hint("'from' is the earlier of the two; 'to' is not included."));
        }
        // Older periods may still be on disk, but their retention has passed.
        let oldest = now.saturating_sub_ms(i64::try_from(kept.as_millis()).unwrap_or(i64::MAX));
        Ok(Self { per, from: from.max(per.start_of(oldest)).min(to), to })
    }

    fn contains(self, at: Millis) -> bool {
        at >= self.from && at < self.to
    }
}

/// The usage on disk plus what the engine has not written yet; `None` for an unknown tenant.
async fn find(
    app: &Access,
    id: &TenantId,
    range: Range,
) -> Result<Option<BTreeMap<Millis, Usage>>, ApiError> {
    for _ in 0..MAX_ATTEMPTS {
        let Some(before) = unwritten(app, id).await? else { return Ok(None) };
        let since = range.from.max(range.per.start_of(before.created));
        let rows = app.usage(range.per, id.clone(), since, range.to).await?;
        let after = unwritten(app, id).await?;
        if after.is_none_or(|after| after.writes != before.writes) {
            continue;
        }
        let mut periods: BTreeMap<Millis, Usage> = rows.into_iter().collect();
        let unwritten = before.hours.iter().map(|(hour, usage)| (range.per.start_of(*hour), usage));
        for (at, usage) in unwritten.filter(|(at, _)| range.contains(*at)) {
            periods.entry(at).or_default().add(usage);
        }
        return Ok(Some(periods));
    }
    Err(ApiError::busy("The tenant's usage is being written to disk and could not be read."))
}

async fn unwritten(
    app: &Access,
    id: &TenantId,
) -> Result<Option<rota_engine::UnwrittenUsage>, ApiError> {
    let id = id.clone();
    Ok(app.look(move |view| view.unwritten_usage(&id)).await?)
}

fn item(per: UsagePer, at: Millis, usage: &Usage) -> Value {
    let mut item = figures(usage);
    item["from"] = json!(at.to_string());
    item["to"] = json!(at.saturating_add_ms(per.ms()).to_string());
    item
}

fn figures(usage: &Usage) -> Value {
    json!({
        "jobs": {
            "enqueued": usage.enqueued,
            "started": usage.started.max(0),
            "completed": usage.completed,
            "failed": usage.failed,
            "discarded": usage.discarded,
        },
        "run_time_ms": usage.run_ms,
        "accepted_bytes": usage.bytes,
    })
}
