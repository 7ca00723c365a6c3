//! What tenants are entitled to, and what they got.

use axum::extract::State;
use rota_engine::ShareView;
use serde_json::{Value, json};

use super::tenants::number;
use crate::http::caller::caller;
use crate::http::error::ApiResult;
use crate::http::params::Params;
use crate::http::{Shared, reply};

const MOST_TENANTS: u64 = 1_000;

pub(in crate::http) async fn show(State(app): Shared, params: Params) -> ApiResult {
    let limit = params.number("limit", 1, MOST_TENANTS, 100)? as usize;
    let own = caller();
    let look = app.handle.look(move |engine| match own {
        Some(own) => {
            let shares = Vec::from_iter(engine.share_of(&own));
            let dispatched = shares.iter().map(|share| u64::from(share.dispatched)).sum();
            (shares, dispatched)
        }
        None => (engine.shares(limit), engine.dispatched_1m()),
    });
    let (shares, dispatched) = look.await?;
    let settings = &app.settings;
    Ok(reply::ok(&json!({
        "strategy": settings.fairness.strategy.as_str(),
        "cost": settings.fairness.cost.as_str(),
        "priority_scope": settings.priority_scope().as_str(),
        "enabled": settings.is_fair(),
        "window": "PT1M",
        "tenants": shares.iter().map(row).collect::<Vec<_>>(),
        "total_dispatched_1m": dispatched,
    })))
}

fn row(share: &ShareView) -> Value {
    json!({
        "tenant_id": share.id,
        "weight": number(share.weight.value()),
        "effective_weight": number(share.effective_weight.value()),
        "backlog": share.available,
        "active": share.active,
        "entitled_share": share.entitled,
        "actual_share": share.actual,
        "dispatched_1m": share.dispatched,
        "enqueued_per_minute": share.enqueued,
        "throttled": share.throttled,
    })
}
