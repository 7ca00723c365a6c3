//! The route that compares the share each tenant is entitled to with the share it gets.

use std::cmp::Reverse;

use rota_engine::{PoolView, ShareView};
use rota_model::PoolName;
use serde_json::{Value, json};

use super::tenants::number;
use crate::http::error::ApiResult;
use crate::http::params::Params;
use crate::http::{Access, View, engine_slices, reply};

/// What a tenant may not do.
const ALL_SHARES: &str = "Seeing the shares of all tenants";
const MAX_TENANTS: u64 = 1_000;
/// Tenants per slice.
pub(super) const SLICE: usize = 2_000;

pub(in crate::http) async fn show(app: Access, params: Params) -> ApiResult {
    let limit = params.number("limit", 1, MAX_TENANTS, 100)? as usize;
    app.check_all_queues("The share of a tenant")?;
    let (shares, dispatched) = match app.tenant().cloned() {
        Some(tenant) => {
            let share = app.look(move |view| view.share(&tenant)).await?;
            let dispatched = share.iter().map(|share| u64::from(share.dispatched)).sum();
            (Vec::from_iter(share), dispatched)
        }
        None => {
            let dispatched =
                app.operator(ALL_SHARES)?.look(rota_engine::Engine::dispatched_1m).await?;
            let look = |view: View<'_>, from, most| {
                view.operator().map_or_else(Default::default, |engine| engine.shares(from, most))
            };
            let all = engine_slices::gather(&app, SLICE, look).await?;
            (busiest(all, limit), dispatched)
        }
    };
    let settings = &app.settings;
    let scope = settings.fairness.scope;
    let look = |view: View<'_>, after: &str, most| view.pools_after(after, 0, most);
    let name = |pool: &PoolView| app.pool_cursor(&pool.name);
    let pools = engine_slices::gather_by_name(&app, SLICE, look, name).await?;
    let differs =
        |pool: &&PoolView| pool.config.fairness_scope.is_some_and(|own_scope| own_scope != scope);
    let other_scope: Vec<&PoolName> = pools.iter().filter(differs).map(|pool| &pool.name).collect();
    Ok(reply::ok(&json!({
        "scope": scope.as_str(),
        "pools_with_other_scope": other_scope,
        "charge_own_workers": settings.fairness.charge_own_workers,
        "strategy": settings.fairness.strategy,
        "cost": settings.fairness.cost,
        "priority_scope": settings.priority_scope(),
        "enabled": settings.is_fair(),
        "window": "PT1M",
        "tenants": shares.iter().map(row).collect::<Vec<_>>(),
        "total_dispatched_1m": dispatched,
    })))
}

/// The tenants with the most dispatches; of those with equally many, the ones with more available jobs.
fn busiest(mut shares: Vec<ShareView>, limit: usize) -> Vec<ShareView> {
    let key = |share: &ShareView| Reverse((share.dispatched, share.available));
    shares.sort_unstable_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.id.cmp(&b.id)));
    shares.truncate(limit);
    shares
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
