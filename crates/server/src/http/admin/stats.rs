//! Statistics of all queues together: current totals and history.

use std::collections::BTreeMap;

use axum::extract::State;
use rota_engine::{Interval, Totals};
use rota_model::{Millis, State as JobState, TenantId};
use rota_store::Period;
use serde_json::{Value, json};

use crate::http::caller::caller;
use crate::http::error::{ApiError, ApiResult, excerpt};
use crate::http::params::Params;
use crate::http::queues::{last_hour, visible_queues};
use crate::http::{App, Shared, reply};

/// The most points in a history.
const MAX_POINTS: i64 = 5_000;
/// The queue name under which the statistics of all queues together are stored.
const ALL_QUEUES: &str = "";

pub(in crate::http) async fn totals(State(app): Shared) -> ApiResult {
    if let Some(tenant) = caller() {
        return tenant_totals(&app, tenant).await;
    }
    let look = app.handle.look(|engine| {
        let queues = engine.queue_count();
        let waiting = engine.waiting_fetches();
        let workers = engine.worker_counts(None).all();
        (queues, workers, engine.totals(), engine.minute(), waiting)
    });
    let (queues, workers, totals, minute, waiting) = look.await?;
    let hour = last_hour(&app, ALL_QUEUES, minute).await?;
    Ok(reply::ok(&json!({
        "queues": queues,
        "workers": workers,
        "waiting_fetches": waiting,
        "jobs": by_state(&totals),
        "throughput": {
            "processed_per_minute": hour.processed() as f64 / 60.0,
            "failed_per_minute": hour.failed as f64 / 60.0,
        },
        "uptime_seconds": app.handle.clock().uptime().as_secs(),
    })))
}

/// The totals of one tenant. Its throughput is that of the last minute, not of the last hour.
async fn tenant_totals(app: &App, tenant: TenantId) -> ApiResult {
    let look = app.handle.look(move |engine| {
        let (_, queues) = engine.queues_of_tenant_after(&tenant, "", 0, 0);
        let workers = engine.worker_counts(Some(&tenant)).all();
        let minute = engine.tenant(&tenant).map(|view| view.minute).unwrap_or_default();
        (queues, workers, engine.totals_of_tenant(&tenant), minute)
    });
    let (queues, workers, totals, minute) = look.await?;
    Ok(reply::ok(&json!({
        "queues": queues,
        "workers": workers,
        "jobs": by_state(&totals),
        "throughput": {
            "processed_per_minute": minute.processed(),
            "failed_per_minute": minute.failed,
        },
        "uptime_seconds": app.handle.clock().uptime().as_secs(),
    })))
}

fn by_state(totals: &Totals) -> Value {
    let count = |state: &JobState| (state.as_str().to_owned(), json!(totals.of(*state)));
    Value::Object(JobState::ALL.iter().map(count).collect())
}

/// The engine's names of the queues whose history is read.
async fn history_queues(app: &App, name: Option<&str>) -> Result<Vec<String>, ApiError> {
    if caller().is_none() {
        return Ok(vec![name.unwrap_or(ALL_QUEUES).to_owned()]);
    }
    if !app.is_namespaced() {
        return Err(ApiError::unsupported("History is stored per queue, not per tenant.")
            .detail("field", "X-OJS-Tenant")
            .hint(
                "GET /ojs/v1/admin/tenants/{id}/usage shows a tenant's usage per hour and day.",
            ));
    }
    let queues = visible_queues(app).await?;
    let selected = queues.iter().filter(|view| name.is_none_or(|name| view.name.local() == name));
    Ok(selected.map(|view| view.name.to_string()).collect())
}

pub(in crate::http) async fn history(State(app): Shared, params: Params) -> ApiResult {
    let period = params.get("period").unwrap_or("5m");
    let (step_ms, stored) = match period {
        "1m" => (60_000, Period::Minute),
        "5m" => (300_000, Period::Minute),
        "1h" => (3_600_000, Period::Hour),
        "1d" => (86_400_000, Period::Hour),
        other => {
            return Err(ApiError::invalid_request(format!(
                "'period' is '{}'; it must be 1m, 5m, 1h or 1d.",
                excerpt(other)
            ))
            .detail("field", "period"));
        }
    };
    let now = app.handle.clock().now().wall;
    let until = params.time("until")?.unwrap_or(now);
    let since = params.time("since")?.unwrap_or(Millis(now.0 - 3_600_000));
    let first = since.0 - since.0.rem_euclid(step_ms);
    if (until.0 - first) / step_ms > MAX_POINTS {
        return Err(ApiError::validation(
            "since",
            format!("The range has more than {MAX_POINTS} points."),
        )
        .hint("Shorten it, or choose a longer period."));
    }
    let mut points: BTreeMap<i64, Interval> = BTreeMap::new();
    for queue in history_queues(&app, params.get("queue")).await? {
        let range = Range { first, until, step_ms, stored };
        if stored == Period::Hour {
            // The current hour is not written yet; its minutes are.
            let first = first.max(Period::Hour.start_of(now).0);
            let minutes = Range { first, stored: Period::Minute, ..range };
            add_history(&app, &mut points, queue.clone(), minutes).await?;
        }
        add_history(&app, &mut points, queue, range).await?;
    }
    let data: Vec<Value> =
        points.into_iter().map(|(start, interval)| point(start, &interval)).collect();
    Ok(reply::ok(&json!({"period": period, "data": data, "data_points": data})))
}

#[derive(Clone, Copy)]
struct Range {
    first: i64,
    until: Millis,
    step_ms: i64,
    stored: Period,
}

/// Adds a queue's history to the points.
async fn add_history(
    app: &App,
    points: &mut BTreeMap<i64, Interval>,
    queue: String,
    Range { first, until, step_ms, stored }: Range,
) -> Result<(), ApiError> {
    let now = app.handle.clock().now().wall;
    let rows = app.handle.history(stored, queue.clone(), Millis(first), until).await?;
    let this_interval = now.0 - now.0.rem_euclid(stored.ms());
    // The current interval may have been written before it is over; the engine has all of it.
    for row in rows.iter().filter(|row| row.at.0 < this_interval) {
        let start = row.at.0 - row.at.0.rem_euclid(step_ms);
        points.entry(start).or_default().merge(&interval(&row.data));
    }
    if until.0 >= this_interval && stored == Period::Minute {
        let current = app.handle.look(move |engine| match &*queue {
            ALL_QUEUES => Some(engine.minute()),
            name => engine.queue(name).map(|view| view.minute),
        });
        if let Some(current) = current.await?.filter(|current| !current.is_empty()) {
            let start = this_interval - this_interval.rem_euclid(step_ms);
            points.entry(start).or_default().merge(&current);
        }
    }
    Ok(())
}

fn point(start: i64, interval: &Interval) -> Value {
    json!({
        "timestamp": Millis(start).to_string(),
        "processed": interval.processed(),
        "completed": interval.completed,
        "failed": interval.failed,
        "enqueued": interval.enqueued,
        "latency_p50_ms": interval.run_ms.quantile(0.5),
        "latency_p99_ms": interval.run_ms.quantile(0.99),
        "wait_p50_ms": interval.wait_ms.quantile(0.5),
        "wait_p99_ms": interval.wait_ms.quantile(0.99),
    })
}

fn interval(data: &[u8]) -> Interval {
    serde_json::from_slice(data).unwrap_or_default()
}
