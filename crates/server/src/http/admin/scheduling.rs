//! How queues and pools were served.

use axum::extract::State;
use serde_json::{Value, json};

use super::pools::utilization;
use crate::http::error::ApiResult;
use crate::http::{Shared, reply};

pub(in crate::http) async fn stats(State(app): Shared) -> ApiResult {
    let look = app.handle.look(|engine| (engine.queue_shares(), engine.pools()));
    let (queues, pools) = look.await?;
    let total: u64 = queues.iter().map(|queue| queue.dispatched).sum();
    let rows: Vec<Value> = queues
        .iter()
        .map(|queue| {
            json!({
                "name": queue.name,
                "dispatch_count_1m": queue.dispatched,
                "dispatch_ratio_1m": queue.ratio,
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
