//! Statistics of the past, of one queue or of all.

use std::collections::BTreeMap;

use rota_engine::Interval;
use rota_model::{Millis, QueueName, duration};
use rota_store::Period;
use serde_json::{Value, json};

use crate::http::error::{ApiError, ApiResult, excerpt};
use crate::http::params::Params;
use crate::http::queues::{ALL_QUEUES, visible_queues};
use crate::http::{Access, reply};

/// The most points in a history.
const MAX_POINTS: i64 = 5_000;
/// The engine's names of the queues whose history is read.
async fn history_queues(app: &Access, name: Option<&str>) -> Result<Vec<String>, ApiError> {
    if app.is_operator() {
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

pub(in crate::http) async fn history(app: Access, params: Params) -> ApiResult {
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
    let now = app.now();
    let until = params.time("until")?.unwrap_or(now);
    let since = since(&params, now)?.unwrap_or(Millis(now.0 - 3_600_000));
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

/// A time, or a duration up to now, such as 24h.
fn since(params: &Params, now: Millis) -> Result<Option<Millis>, ApiError> {
    match params.get("since").map(duration::parse_any) {
        Some(Ok(ms)) => Ok(Some(now.saturating_sub_ms(ms))),
        _ => params.time("since"),
    }
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
    app: &Access,
    points: &mut BTreeMap<i64, Interval>,
    queue: String,
    Range { first, until, step_ms, stored }: Range,
) -> Result<(), ApiError> {
    let now = app.now();
    let rows = app.history(stored, queue.clone(), Millis(first), until).await?;
    let this_interval = now.0 - now.0.rem_euclid(stored.ms());
    // The current interval may have been written before it is over; the engine has all of it.
    for row in rows.iter().filter(|row| row.at.0 < this_interval) {
        let start = row.at.0 - row.at.0.rem_euclid(step_ms);
        points.entry(start).or_default().merge(&interval(&row.data));
    }
    if until.0 >= this_interval && stored == Period::Minute {
        let current = app.look(move |view| match (&*queue, view.operator()) {
            (ALL_QUEUES, engine) => engine.map(rota_engine::Engine::minute),
            (name, _) => view.queue(&QueueName::stored(name).ok()?).map(|view| view.minute),
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
