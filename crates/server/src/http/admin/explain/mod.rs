//! The route that explains why a job has not started, and when it can.

mod messages;

use rota_engine::{Explained, Reason};
use rota_model::State as JobState;
use serde_json::{Value, json};

use super::tenants::number;
use crate::http::error::{ApiError, ApiResult};
use crate::http::params::PathName;
use crate::http::{Access, reply};

pub(in crate::http) async fn explain(app: Access, name: PathName) -> ApiResult {
    let id = name.job()?;
    match app.explain(id).await? {
        Some(why) => Ok(reply::ok(&show(&id.to_string(), &why))),
        None => Err(ApiError::not_found("job", name.as_str())),
    }
}

fn show(id: &str, why: &Explained) -> Value {
    let reasons: Vec<Value> =
        why.reasons.iter().map(|reason| show_reason(id, why, reason)).collect();
    let paused = |reason: &Reason| matches!(reason, Reason::QueuePaused { .. });
    json!({
        "job_id": id,
        "state": why.state.as_str(),
        "runnable": is_runnable(why),
        "summary": messages::summary(id, why),
        "reasons": reasons,
        "earliest_start": why.earliest.map(|time| time.to_string()),
        "position": why.line.map(|line| json!({
            "in_lane": line.in_lane + 1,
            "of_tenant": line.of_tenant + 1,
            "jobs_ahead": line.of_tenant,
            "tenants": line.tenants,
            "tenants_above": line.above,
        })),
        "tenant": {
            "id": why.tenant,
            "weight": number(why.weight),
            "share": why.share,
            "active": why.tenant_active,
            "max_concurrency": why.tenant_cap,
        },
        "queue": {
            "name": why.queue.local(),
            "paused": why.reasons.iter().any(paused),
            "workers_waiting": why.fetches_waiting,
        },
        "limits": why.reasons.iter().filter_map(show_limit).collect::<Vec<_>>(),
    })
}

/// Whether the next fetch from the job's queue may get it.
fn is_runnable(why: &Explained) -> bool {
    let is_no_obstacle =
        |reason: &Reason| matches!(reason, Reason::InLine | Reason::NoWorker { .. });
    let is_next = why.line.is_some_and(|line| line.of_tenant == 0);
    why.state == JobState::Available && is_next && why.reasons.iter().all(is_no_obstacle)
}

fn show_reason(id: &str, why: &Explained, reason: &Reason) -> Value {
    let mut shown = match reason {
        Reason::Scheduled { due } | Reason::RetryDelay { due } => {
            json!({"until": due.map(|time| time.to_string())})
        }
        Reason::QueuePaused { since } | Reason::TenantPaused { since } => {
            json!({"since": since.to_string()})
        }
        Reason::QueueConcurrency { active, limit }
        | Reason::TenantConcurrency { active, limit } => {
            json!({"current": active, "limit": limit})
        }
        Reason::PoolConcurrency { pool, active, limit, .. } => {
            json!({"pool": pool.local(), "current": active, "limit": limit})
        }
        Reason::PoolsFull { pool: Some(pool) } => json!({"pool": pool.local()}),
        Reason::LessUrgent { tenants } => json!({"tenants": tenants}),
        limit @ Reason::Limit { .. } => show_limit(limit).unwrap_or_else(|| json!({})),
        _ => json!({}),
    };
    shown["code"] = json!(messages::code(reason));
    shown["message"] = json!(messages::message(id, why, reason));
    shown
}

fn show_limit(reason: &Reason) -> Option<Value> {
    let Reason::Limit { key, strategy, limit, current, opens, overtaken, .. } = reason else {
        return None;
    };
    Some(json!({
        "key": key.local(),
        "strategy": strategy.as_str(),
        "limit": limit,
        "current": current,
        "opens_at": opens.map(|time| time.to_string()),
        "overtaken": overtaken,
    }))
}
