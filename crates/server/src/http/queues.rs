//! Queues: list, statistics, pause and resume.

use axum::extract::State;
use rota_engine::{Command, Interval, QueueView, Reply};
use rota_model::{Millis, State as JobState};
use rota_store::Period;
use serde_json::{Map, Value, json};

use super::error::{ApiError, ApiResult};
use super::params::{Params, PathName};
use super::{App, Shared, reply};
use crate::runtime::Answer;

pub(super) async fn list(State(app): Shared, params: Params) -> ApiResult {
    let limit = params.number("limit", 1, 200, 50)? as usize;
    let offset = params.number("offset", 0, u64::MAX, 0)? as usize;
    let queues = app.handle.look(rota_engine::Engine::queues).await?;
    let after = params.get("cursor").map(str::to_owned);
    let total = queues.len();
    let rest: Vec<_> = queues
        .iter()
        .filter(|view| after.as_ref().is_none_or(|after| *view.name > **after))
        .skip(offset)
        .collect();
    let has_more = rest.len() > limit;
    let shown: Vec<_> = rest.into_iter().take(limit).collect();
    let next = shown.last().filter(|_| has_more).map(|view| view.name.to_string());
    let rows: Vec<Value> = shown.iter().map(|view| summary(view)).collect();
    let mut pagination =
        json!({"total": total, "limit": limit, "offset": offset, "has_more": has_more});
    if let Some(next) = next {
        pagination["next_cursor"] = json!(next);
    }
    Ok(reply::ok(&json!({"queues": rows, "pagination": pagination})))
}

pub(super) async fn stats(State(app): Shared, name: PathName) -> ApiResult {
    let view = find(&app, &name).await?;
    let hour = last_hour(&app, &view.name, view.minute.clone()).await?;
    let mut queue = summary(&view);
    let mut stats = counts(&view);
    let figures = json!({
        "completed_last_hour": hour.completed,
        "failed_last_hour": hour.failed,
        "enqueued_last_hour": hour.enqueued,
        "avg_duration_ms": hour.run_ms.mean(),
        "avg_wait_ms": hour.wait_ms.mean(),
        "throughput_per_second": hour.completed as f64 / 3600.0,
    });
    for target in [&mut queue, &mut stats] {
        merge(target, &figures);
        merge(target, &fullness(&view));
    }
    stats["queue"] = json!(view.name.local());
    Ok(reply::ok(&json!({
        "queue": queue,
        "name": view.name,
        "status": status(&view),
        "stats": stats,
        "computed_at": app.handle.clock().now().wall.to_string(),
    })))
}

pub(super) async fn pause(State(app): Shared, name: PathName) -> ApiResult {
    let view = change(&app, Command::PauseQueue(name.queue()?)).await?;
    Ok(reply::ok(&json!({
        "queue": summary(&view),
        "name": view.name,
        "status": status(&view),
        "paused": true,
        "paused_at": view.paused.map(|at| at.to_string()),
    })))
}

pub(super) async fn resume(State(app): Shared, name: PathName) -> ApiResult {
    let view = change(&app, Command::ResumeQueue(name.queue()?)).await?;
    Ok(reply::ok(&json!({
        "queue": summary(&view),
        "name": view.name,
        "status": status(&view),
        "paused": false,
        "resumed_at": app.handle.clock().now().wall.to_string(),
    })))
}

pub(super) async fn find(app: &App, name: &PathName) -> Result<QueueView, ApiError> {
    let queue = name.queue()?;
    let view = app.handle.look(move |engine| engine.queue(&queue)).await?;
    view.ok_or_else(|| ApiError::not_found("queue", name.as_str()))
}

pub(super) async fn change(app: &App, command: Command) -> Result<QueueView, ApiError> {
    match app.handle.command(command).await? {
        Reply::Queue(view) => Ok(*view),
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// The last sixty minutes of a queue, with the one under way, which only the engine has.
pub(super) async fn last_hour(
    app: &App,
    queue: &str,
    minute: Interval,
) -> Result<Interval, ApiError> {
    let now = app.handle.clock().now().wall;
    let since = Millis(now.0 - Period::Hour.ms());
    let rows = app.handle.history(Period::Minute, queue.to_owned(), since, now).await?;
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

/// How many jobs are in each state.
pub(super) fn counts(view: &QueueView) -> Value {
    let count = |state: &JobState| (state.as_str().to_owned(), json!(view.totals.of(*state)));
    Value::Object(JobState::ALL.iter().map(count).collect())
}

/// How full a queue is, and how full it may be.
pub(super) fn fullness(view: &QueueView) -> Value {
    let depth: u64 = JobState::WAITING.into_iter().map(|state| view.totals.of(state)).sum();
    let bounds = view.settings.bounds;
    json!({
        "depth": depth,
        "size_bytes": view.bytes,
        "bound": bounds.map(|bounds| bounds.max_depth).filter(|most| *most > 0),
        "bound_bytes": bounds.map(|bounds| bounds.max_bytes).filter(|most| *most > 0),
        "pressure": view.pressure,
    })
}

fn summary(view: &QueueView) -> Value {
    let mut queue = json!({
        "name": view.name,
        "status": status(view),
        "paused": view.paused.is_some(),
        "created_at": view.created.to_string(),
    });
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
