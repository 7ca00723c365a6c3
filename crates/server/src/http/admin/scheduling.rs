//! Scheduling statistics: dispatches of queues and pools in the last minute.

use rota_engine::QueueShare;
use serde_json::{Value, json};

use super::pools::utilization;
use crate::http::engine_slices::gather_by_name;
use crate::http::error::{ApiError, ApiResult};
use crate::http::{Access, View, reply};

/// Queues or pools per slice.
const SLICE: usize = 500;

pub(in crate::http) async fn stats(app: Access) -> ApiResult {
    if app.sharing_tenant().is_some() {
        return Err(ApiError::unsupported("Dispatches are counted per queue, not per tenant.")
            .detail("field", "X-OJS-Tenant")
            .hint("GET /ojs/v1/admin/tenants/{id}/stats has a tenant's last minute and day."));
    }
    // A tenant's cursors are names without its namespace.
    let name = |queue: &QueueShare| match app.tenant() {
        Some(_) => queue.name.local().to_owned(),
        None => queue.name.to_string(),
    };
    let look = |view: View<'_>, after: &str, most| view.queue_shares_after(after, most);
    let queues = gather_by_name(&app, SLICE, look, name).await?;
    let look = |view: View<'_>, after: &str, most| match view.operator() {
        Some(engine) => engine.pools_after(after, 0, most),
        None => Vec::new(),
    };
    let pools = gather_by_name(&app, SLICE, look, |pool| pool.name.to_string()).await?;
    let total: u64 = queues.iter().map(|queue| queue.dispatched).sum();
    let rows: Vec<Value> = queues
        .iter()
        .map(|queue| {
            json!({
                "name": queue.name.local(),
                "tenant_id": queue.name.namespace(),
                "dispatch_count_1m": queue.dispatched,
                "dispatched": queue.dispatched,
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
                "name": pool.name.local(),
                "tenant_id": pool.name.owner_name(),
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
