//! Routes for queues: list, statistics, pause, resume.

use axum::http::HeaderMap;
use rota_engine::{Interval, QueueView, Reply};
use rota_model::{Millis, State as JobState};
use rota_store::Period;
use serde_json::{Map, Value, json};

use super::body::NoBody;
use super::error::{ApiError, ApiResult};
use super::name_pages::{NameWindow, Page};
use super::params::{Params, PathName};
use super::{Access, View, engine_slices, over_limit, reply, spec_version};
use crate::runtime::Answer;

/// The queue name under which the statistics of all queues together are stored.
pub(super) const ALL_QUEUES: &str = "";
/// A queue in a list takes fewer bytes than this, beside its name.
const MAX_QUEUE_BYTES: usize = 2 << 10;
/// Queues per slice.
const SLICE: usize = 500;

pub(super) async fn list(app: Access, params: Params) -> ApiResult {
    let page = page(&app, &NameWindow::from_params(&params, 50, 200)?).await?;
    let rows: Vec<Value> = page.items.iter().map(summary).collect();
    Ok(reply::ok(&json!({"queues": rows, "items": rows, "pagination": page.pagination})))
}

/// The specification's documents disagree about `queue`: an object, or the queue's name with all figures
/// beside it. Clients that name the version of the specification, as the SDKs do, get the latter.
pub(super) async fn stats(app: Access, name: PathName, headers: HeaderMap) -> ApiResult {
    let view = find(&app, &name).await?;
    let mut stats = counts(&view);
    merge(&mut stats, &figures(&app, &view).await?);
    merge(&mut stats, &fullness(&view));
    let mut queue = summary(&view);
    merge(&mut queue, &stats);
    let mut answer = match spec_version::is_named(&headers) {
        true => {
            queue["queue"] = json!(view.name.local());
            queue
        }
        false => json!({"queue": queue, "name": view.name.local(), "status": status(&view)}),
    };
    stats["queue"] = json!(view.name.local());
    answer["stats"] = stats;
    answer["computed_at"] = json!(app.now().to_string());
    Ok(reply::ok(&answer))
}

pub(super) async fn pause(app: Access, name: PathName, _: NoBody) -> ApiResult {
    let view = set_paused(&app, &name, true).await?;
    Ok(reply::ok(&json!({
        "queue": summary(&view),
        "name": view.name.local(),
        "status": status(&view),
        "paused": true,
        "paused_at": view.paused.map(|time| time.to_string()),
    })))
}

pub(super) async fn resume(app: Access, name: PathName, _: NoBody) -> ApiResult {
    let view = set_paused(&app, &name, false).await?;
    Ok(reply::ok(&json!({
        "queue": summary(&view),
        "name": view.name.local(),
        "status": status(&view),
        "paused": false,
        "resumed_at": app.now().to_string(),
    })))
}

/// A queue as the caller sees it. A tenant sees only its shard, and no queue where it has none.
pub(super) async fn find(app: &Access, name: &PathName) -> Result<QueueView, ApiError> {
    let queue = app.queue(&name.queue()?)?;
    app.look(move |view| view.queue(&queue))
        .await?
        .ok_or_else(|| ApiError::not_found("queue", name.as_str()))
}

/// A page of the queues that the caller can see.
pub(super) async fn page(app: &Access, window: &NameWindow) -> Result<Page<QueueView>, ApiError> {
    let look = |view: View<'_>, after: &str, skip, most| view.queues_after(after, skip, most);
    let size = |view: &QueueView| 2 * (MAX_QUEUE_BYTES + view.name.len());
    window.read(app, look, |view| cursor(view, !app.is_operator()), size).await
}

/// All queues that the caller can see, sorted by name; read in slices.
pub(super) async fn visible_queues(app: &Access) -> Result<Vec<QueueView>, ApiError> {
    let look = |view: View<'_>, after: &str, most| view.queues_after(after, 0, most).0;
    engine_slices::gather_by_name(app, SLICE, look, |view| cursor(view, !app.is_operator())).await
}

/// The cursor of a queue in a list. For operators it is the engine's name, because several tenants may
/// have queues of the same name.
fn cursor(view: &QueueView, is_tenant: bool) -> String {
    match is_tenant {
        true => view.name.local().to_owned(),
        false => view.name.to_string(),
    }
}

/// Pauses or resumes a whole queue, or the caller's shard of it. An operator may pause a queue before it
/// has jobs; a tenant that shares its queues has no part in one where it never had any.
pub(super) async fn set_paused(
    app: &Access,
    name: &PathName,
    pause: bool,
) -> Result<QueueView, ApiError> {
    let queue = app.queue(&name.queue()?)?;
    if app.sharing_tenant().is_some() {
        find(app, name).await?;
    }
    changed(app.pause_queue(queue, pause).await?)
}

/// The queue in the reply to a change.
pub(super) fn changed(reply: Reply) -> Result<QueueView, ApiError> {
    match reply {
        Reply::Queue(view) => Ok(*view),
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// The figures of a queue's last hour, as far as the caller may see them. An average over nothing is 0.
async fn figures(app: &Access, view: &QueueView) -> Result<Value, ApiError> {
    let Some(hour) = visible_last_hour(app, view).await? else { return Ok(json!({})) };
    Ok(json!({
        "completed_last_hour": hour.completed,
        "failed_last_hour": hour.failed,
        "enqueued_last_hour": hour.enqueued,
        "avg_duration_ms": hour.run_ms.mean().unwrap_or(0.0),
        "avg_wait_ms": hour.wait_ms.mean().unwrap_or(0.0),
        "throughput_per_second": hour.completed as f64 / 3600.0,
    }))
}

/// The figures of a queue's last hour; `None` if the caller shares the queue with other tenants, because
/// figures over time exist for whole queues only.
pub(super) async fn visible_last_hour(
    app: &Access,
    view: &QueueView,
) -> Result<Option<Interval>, ApiError> {
    if app.sharing_tenant().is_some() {
        return Ok(None);
    }
    last_hour(app, &view.name, view.minute.clone()).await.map(Some)
}

/// The figures of a queue's last sixty minutes. `minute` is the current one, which only the engine has.
pub(super) async fn last_hour(
    app: &Access,
    queue: &str,
    minute: Interval,
) -> Result<Interval, ApiError> {
    let now = app.now();
    let since = Millis(now.0 - Period::Hour.ms());
    let rows = app.history(Period::Minute, queue.to_owned(), since, now).await?;
    let mut hour = minute;
    let this_minute = now.0 - now.0.rem_euclid(Period::Minute.ms());
    for row in rows.iter().filter(|row| row.at.0 < this_minute) {
        hour.merge(&serde_json::from_slice(&row.data).unwrap_or_default());
    }
    Ok(hour)
}

pub(super) fn status(view: &QueueView) -> &'static str {
    if view.paused.is_some() { "paused" } else { "active" }
}

/// The number of jobs in each state.
pub(super) fn counts(view: &QueueView) -> Value {
    let count = |state: &JobState| (state.as_str().to_owned(), json!(view.totals.of(*state)));
    Value::Object(JobState::ALL.iter().map(count).collect())
}

/// A queue's depth, size, bounds and pressure.
pub(super) fn fullness(view: &QueueView) -> Value {
    let bounds = view.settings.bounds;
    json!({
        "depth": over_limit::depth(view),
        "size_bytes": view.bytes,
        "bound": bounds.map(|bounds| bounds.max_depth).filter(|most| *most > 0),
        "bound_bytes": bounds.map(|bounds| bounds.max_bytes).filter(|most| *most > 0),
        "pressure": view.pressure,
    })
}

pub(super) fn summary(view: &QueueView) -> Value {
    let mut queue = json!({
        "name": view.name.local(),
        "status": status(view),
        "paused": view.paused.is_some(),
        "created_at": view.created.to_string(),
    });
    if let Some(tenant) = view.name.namespace() {
        queue["tenant_id"] = json!(tenant);
    }
    if let Some(at) = view.paused {
        queue["paused_at"] = json!(at.to_string());
    }
    merge(&mut queue, &counts(view));
    queue
}

pub(super) fn merge(target: &mut Value, more: &Value) {
    let empty = Map::new();
    let more = more.as_object().unwrap_or(&empty);
    if let Value::Object(members) = target {
        members.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
}
