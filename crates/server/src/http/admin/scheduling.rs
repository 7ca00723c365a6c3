//! How queues and pools were served.

use axum::extract::State;
use serde_json::{Value, json};

use super::pools::utilization;
use crate::http::caller::caller;
use crate::http::error::{ApiError, ApiResult};
use crate::http::{Shared, reply};

pub(in crate::http) async fn stats(State(app): Shared) -> ApiResult {
    let look = app.handle.look(|engine| (engine.queue_shares(), engine.pools()));
    let (mut queues, mut pools) = look.await?;
    if let Some(tenant) = caller() {
        if !app.is_namespaced() {
            return Err(ApiError::unsupported(
                "Dispatches are counted for queues, and not for each tenant.",
            )
            .hint("GET /ojs/v1/admin/tenants/{id}/stats has a tenant's last minute and day."));
        }
        queues.retain(|queue| queue.name.namespace() == Some(&tenant));
        pools.clear();
    }
    let total: u64 = queues.iter().map(|queue| queue.dispatched).sum();
    let rows: Vec<Value> = queues
        .iter()
        .map(|queue| {
            json!({
                "name": queue.name.local(),
                "tenant_id": queue.name.namespace(),
                "dispatch_count_1m": queue.dispatched,
                "dispatch_ratio_1m": queue.dispatched as f64 / total.max(1) as f64,
                "avg_wait_ms": queue.avg_wait_ms,
                "active_jobs": queue.active,
                "starved": queue.starves,
                "starvation_events": queue.starved,
            })
        })
        .collect();
    let pools: Vec<Value> = pools
        .iter()
        .map(|pool| {
            json!({
                "name": pool.name,
                "active_jobs": pool.active_jobs,
                "concurrency": pool.config.concurrency,
                "utilization": utilization(pool),
                "dispatch_count_1m": pool.dispatched_1m,
            })
        })
        .collect();
    Ok(reply::ok(&json!({
        "queues": rows,
        "window": "PT1M",
        "stats": {"queues": rows, "total_dispatched_1m": total, "pools": pools},
    })))
}
