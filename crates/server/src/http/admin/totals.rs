//! Statistics of now: of everything that the caller may see, of one queue, or queue by queue.

use std::cmp::Reverse;

use rota_engine::{Interval, QueueView, Totals};
use rota_model::{State as JobState, TenantId};
use serde_json::{Value, json};

use crate::http::error::{ApiError, ApiResult};
use crate::http::over_limit::depth;
use crate::http::params::{Params, PathName};
use crate::http::queues::{self, ALL_QUEUES, last_hour, visible_last_hour, visible_queues};
use crate::http::{Access, reply};

/// The most queues that are shown one by one.
const MAX_QUEUES: u64 = 100;

/// `queue` narrows the answer to one queue. With `detail`, `queues` is a list of up to `limit` queues, the
/// deepest first, as ojs-cli reads it.
pub(in crate::http) async fn totals(app: Access, params: Params) -> ApiResult {
    let detail = params.flag("detail")?.unwrap_or(false);
    if !detail && params.given("limit").is_some() {
        let text = "'limit' is the number of queues in the list that 'detail=true' asks for.";
        return Err(ApiError::invalid_request(text)
            .detail("field", "limit")
            .hint("Add detail=true, or leave 'limit' out."));
    }
    let limit = params.number("limit", 1, MAX_QUEUES, 10)? as usize;
    let queue = match params.get("queue") {
        Some(name) => Some(queues::find(&app, &PathName::given(name)).await?),
        None => None,
    };
    let mut answer = match &queue {
        Some(view) => of_queue(&app, view).await?,
        None => match app.tenant() {
            Some(tenant) => of_tenant(&app, tenant.clone()).await?,
            None => of_all(&app).await?,
        },
    };
    if detail {
        let views = match queue {
            Some(view) => vec![view],
            None => deepest(&app, limit).await?,
        };
        let mut list = Vec::with_capacity(views.len());
        for view in &views {
            list.push(row(&app, view).await?);
        }
        answer["queue_count"] = std::mem::replace(&mut answer["queues"], Value::Array(list));
    }
    answer["uptime_seconds"] = json!(app.clock().uptime().as_secs());
    Ok(reply::ok(&answer))
}

async fn of_all(app: &Access) -> Result<Value, ApiError> {
    let look = app.operator("Seeing the totals of all tenants")?.look(|engine| {
        let queues = engine.queue_count();
        let waiting = engine.waiting_fetches();
        let workers = engine.worker_counts(None).all();
        (queues, workers, engine.totals(), engine.minute(), waiting)
    });
    let (queues, workers, totals, minute, waiting) = look.await?;
    let hour = last_hour(app, ALL_QUEUES, minute).await?;
    let lookups = app.lookups();
    Ok(json!({
        "queues": queues,
        "workers": workers,
        "waiting_fetches": waiting,
        "lookups": {"engine": lookups.engine, "store": lookups.store},
        "jobs": by_state(&totals),
        "throughput": throughput(&hour),
    }))
}

/// The totals of one tenant. Its throughput is that of the last minute, not of the last hour.
async fn of_tenant(app: &Access, tenant: TenantId) -> Result<Value, ApiError> {
    let look = app.look(move |view| {
        let (_, queues) = view.queues_after("", 0, 0);
        let workers = view.worker_counts().all();
        let minute = view.tenant(&tenant).map(|view| view.minute);
        (queues, workers, view.totals_of_tenant(&tenant), minute)
    });
    let (queues, workers, totals, minute) = look.await?;
    let mut answer = json!({"queues": queues, "workers": workers, "jobs": by_state(&totals)});
    // It is counted for all queues of the tenant together, which not all credentials are for.
    if app.check_all_queues("Throughput").is_ok() {
        let minute = minute.unwrap_or_default();
        answer["throughput"] = json!({
            "processed_per_minute": minute.processed(),
            "failed_per_minute": minute.failed,
        });
    }
    Ok(answer)
}

async fn of_queue(app: &Access, view: &QueueView) -> Result<Value, ApiError> {
    let mut answer = json!({
        "queue": view.name.local(),
        "queues": 1,
        "jobs": queues::counts(view),
    });
    if let Some(hour) = visible_last_hour(app, view).await? {
        answer["throughput"] = throughput(&hour);
    }
    Ok(answer)
}

/// The queues with the most waiting jobs.
async fn deepest(app: &Access, limit: usize) -> Result<Vec<QueueView>, ApiError> {
    let mut views = visible_queues(app).await?;
    views.sort_by_key(|view| Reverse(depth(view)));
    views.truncate(limit);
    Ok(views)
}

async fn row(app: &Access, view: &QueueView) -> Result<Value, ApiError> {
    let mut row = json!({"name": view.name.local(), "depth": depth(view)});
    if let Some(tenant) = view.name.namespace() {
        row["tenant_id"] = json!(tenant);
    }
    if let Some(hour) = visible_last_hour(app, view).await? {
        row["avg_duration_ms"] = json!(hour.run_ms.mean().unwrap_or(0.0));
        row["error_rate"] = json!(hour.failed as f64 / hour.processed().max(1) as f64);
    }
    Ok(row)
}

/// The figures of an hour per minute; those whose names end in `_per_min` are whole numbers for ojs-cli.
fn throughput(hour: &Interval) -> Value {
    let per_minute = |count: u64| count as f64 / 60.0;
    let rounded = |count: u64| per_minute(count).round() as u64;
    json!({
        "processed_per_minute": per_minute(hour.processed()),
        "failed_per_minute": per_minute(hour.failed),
        "enqueued_per_min": rounded(hour.enqueued),
        "completed_per_min": rounded(hour.completed),
        "failed_per_min": rounded(hour.failed),
        "avg_latency_ms": hour.run_ms.mean().unwrap_or(0.0),
    })
}

fn by_state(totals: &Totals) -> Value {
    let count = |state: &JobState| (state.as_str().to_owned(), json!(totals.of(*state)));
    Value::Object(JobState::ALL.iter().map(count).collect())
}
