//! The `data` of events about tenants, limits, scheduling and full queues.

use rota_engine::EventKind;
use rota_model::{Seq, duration};
use serde_json::{Value, json};

use crate::http::admin::tenants;

pub(super) fn data_of(kind: &EventKind, job_id: &dyn Fn(Seq) -> Option<String>) -> Value {
    match kind {
        EventKind::TenantCreated { tenant } => json!({"tenant_id": tenant}),
        EventKind::TenantLimitExceeded { tenant, limit, current, maximum, soft } => json!({
            "tenant_id": tenant, "limit": limit, "current": current, "maximum": maximum, "soft": soft,
        }),
        EventKind::TenantThrottled { tenant, throttle, .. } => {
            let mut data = tenants::throttle(throttle);
            data["event_type"] = json!("tenant.throttled");
            data["tenant_id"] = json!(tenant);
            data
        }
        EventKind::TenantNoisy { tenant, reason } => json!({"tenant_id": tenant, "reason": reason}),
        EventKind::TenantThrottleReleased { tenant, reason } => {
            json!({"tenant_id": tenant, "reason": reason})
        }
        EventKind::LimitExceeded { key, strategy, limit, current, .. } => {
            json!({"key": key.local(), "strategy": strategy.as_str(), "limit": limit, "current": current})
        }
        EventKind::LimitReleased { key, strategy, job, .. } => {
            json!({"key": key.local(), "strategy": strategy.as_str(), "job_id": job_id(job.seq)})
        }
        EventKind::LimitDropped { key, job, .. } => {
            json!({"key": key.local(), "job_id": job_id(job.seq), "job_type": job.class.kind})
        }
        EventKind::LimitAdjusted { key, until, reason, .. } => {
            json!({"key": key.local(), "until": until.map(|at| at.to_string()), "reason": reason})
        }
        EventKind::QueueStarved { queue, for_ms, available } => json!({
            "queue": queue.local(),
            "duration": duration::format_iso8601(*for_ms as i64),
            "duration_ms": for_ms,
            "available_count": available,
        }),
        EventKind::PoolOverloaded { pool, active, waiting } => {
            json!({"pool": pool.local(), "active_jobs": active, "waiting_jobs": waiting})
        }
        EventKind::PoolRebalanced { pool, previous, new } => json!({
            "pool": pool.local(),
            "previous_strategy": previous.map(|strategy| strategy.as_str()),
            "new_strategy": new.as_str(),
        }),
        EventKind::QueueNearlyFull { queue, depth, bound }
        | EventKind::QueueCleared { queue, depth, bound } => {
            json!({"queue": queue.local(), "depth": depth, "bound": bound})
        }
        EventKind::QueueRejected { queue, depth, bound, class } => {
            json!({"queue": queue.local(), "depth": depth, "bound": bound, "job_type": class.kind})
        }
        EventKind::QueueDropped { queue, job } => {
            json!({"queue": queue.local(), "job_id": job_id(job.seq), "job_type": job.class.kind})
        }
        _ => Value::Null,
    }
}
