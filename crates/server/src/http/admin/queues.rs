//! Admin routes for queues: list, show, pause, resume, purge.

use rota_engine::{QueueView, Selected};
use rota_model::{Rejection, State as JobState};
use rota_store::Selection;
use serde::Deserialize;
use serde_json::{Value, json};

use super::bulk::{self, Action};
use super::queue_config;
use crate::http::body::NoBody;
use crate::http::body::{Json, OptionalJson};
use crate::http::error::{ApiError, ApiResult};
use crate::http::filter::{Filter, parse_state};
use crate::http::name_pages::NameWindow;
use crate::http::params::{Params, PathName};
use crate::http::queues::{self, counts, find, set_paused, status, visible_last_hour};
use crate::http::{Access, reply};

pub(in crate::http) async fn list(app: Access, params: Params) -> ApiResult {
    let page = queues::page(&app, &NameWindow::from_params(&params, 20, 100)?).await?;
    let mut items = Vec::new();
    for view in &page.items {
        items.push(item(&app, view).await?);
    }
    Ok(reply::ok(&json!({"items": items, "queues": items, "pagination": page.pagination})))
}

pub(in crate::http) async fn show(app: Access, name: PathName) -> ApiResult {
    let view = find(&app, &name).await?;
    let mut value = item(&app, &view).await?;
    value["configuration"] = queue_config::config_json(&app, &view.name, &view.settings).await?;
    value["oldest_available_at"] = oldest_available_at(&app, &view).await?;
    Ok(reply::ok(&value))
}

pub(in crate::http) async fn pause(app: Access, name: PathName, _: NoBody) -> ApiResult {
    let view = set_paused(&app, &name, true).await?;
    let paused_at = view.paused.map(|time| time.to_string());
    Ok(reply::ok(&json!({
        "name": view.name.local(), "state": status(&view), "status": status(&view), "paused": true,
        "paused_at": paused_at,
    })))
}

pub(in crate::http) async fn resume(app: Access, name: PathName, _: NoBody) -> ApiResult {
    let view = set_paused(&app, &name, false).await?;
    let resumed_at = app.now().to_string();
    Ok(reply::ok(&json!({
        "name": view.name.local(), "state": status(&view), "status": status(&view), "paused": false,
        "resumed_at": resumed_at,
    })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PurgeBody {
    states: Option<Vec<String>>,
    older_than: Option<String>,
    confirm: Option<bool>,
}

pub(in crate::http) async fn purge(app: Access, name: PathName, body: Json) -> ApiResult {
    let body: PurgeBody = body.parse()?;
    bulk::require_confirm(body.confirm, bulk::LIST_JOBS)?;
    let states = body.states.as_ref().filter(|states| !states.is_empty());
    if states.is_none() {
        return Err(Rejection::field("states", "is required")
            .hint("Such as [\"completed\", \"discarded\"].")
            .into());
    }
    delete_jobs(&app, &name, body).await
}

/// Deletes a queue's finished jobs, completed ones unless the body says otherwise. The path is
/// unmistakable, so there is no `confirm`.
pub(in crate::http) async fn purge_finished(
    app: Access,
    name: PathName,
    body: OptionalJson,
) -> ApiResult {
    let body: PurgeBody = body.parse()?;
    for state in body.states.iter().flatten() {
        if !parse_state(state)?.is_terminal() {
            let text =
                format!("Only finished jobs can be purged here, and '{state}' jobs are not.");
            return Err(ApiError::validation("states", text)
                .hint("DELETE /ojs/v1/admin/queues/{name}/jobs deletes waiting jobs, too."));
        }
    }
    delete_jobs(&app, &name, body).await
}

async fn delete_jobs(app: &Access, name: &PathName, body: PurgeBody) -> ApiResult {
    let states = body.states.filter(|states| !states.is_empty());
    let states = states.unwrap_or_else(|| vec![JobState::Completed.as_str().to_owned()]);
    let mut filter = Filter::all(app, Selection::NONE);
    filter.queue = Some(name.queue()?);
    find(app, name).await?;
    let parsed: Vec<JobState> = states.iter().map(|s| parse_state(s)).collect::<Result<_, _>>()?;
    filter.select = parsed.iter().fold(Selection::NONE, |select, state| select.with(*state));
    // A job that was retried meanwhile is not deleted, unless waiting jobs are deleted as well.
    let action = match parsed.as_slice() {
        [state] if state.is_terminal() => Action::DeleteOnly(Selected::Ended(Some(*state))),
        all if all.iter().all(|s| s.is_terminal()) => Action::DeleteOnly(Selected::Ended(None)),
        all if all.iter().all(|s| !s.is_terminal()) => Action::DeleteOnly(Selected::Waiting),
        _ => Action::Delete,
    };
    let older_than = body.older_than.map(|text| bulk::parse_older_than(app, &text)).transpose()?;
    let outcome = bulk::apply(app, action, &filter, older_than).await?;
    Ok(reply::ok(&json!({
        "purged_count": outcome.succeeded,
        "deleted": outcome.succeeded,
        "states": states,
        "failed": outcome.failed,
        "errors": outcome.errors,
    })))
}

async fn item(app: &Access, view: &QueueView) -> Result<Value, ApiError> {
    let mut item = json!({
        "name": view.name.local(),
        "tenant_id": view.name.namespace(),
        "state": status(view),
        "status": status(view),
        "counts": counts(view),
        "paused": view.paused.is_some(),
        "paused_at": view.paused.map(|time| time.to_string()),
        "created_at": view.created.to_string(),
    });
    if let Some(hour) = visible_last_hour(app, view).await? {
        let per_minute = |count: u64| count as f64 / 60.0;
        // Over nothing, it is 0.
        let latency = |quantile: f64| hour.run_ms.quantile(quantile).unwrap_or(0);
        item["throughput"] = json!({
            "processed_per_minute": per_minute(hour.processed()),
            "failed_per_minute": per_minute(hour.failed),
        });
        item["latency_ms"] =
            json!({"p50": latency(0.5), "p95": latency(0.95), "p99": latency(0.99)});
    }
    Ok(item)
}

async fn oldest_available_at(app: &Access, view: &QueueView) -> Result<Value, ApiError> {
    let Some(seq) = view.oldest else { return Ok(Value::Null) };
    let mut records = app.records(vec![seq], usize::MAX).await?;
    let enqueued = records.pop().flatten().and_then(|record| match record.row {
        rota_store::JobRow::Live(live) => Some(live.enqueued.to_string()),
        rota_store::JobRow::Done(_) => None,
    });
    Ok(json!(enqueued))
}
