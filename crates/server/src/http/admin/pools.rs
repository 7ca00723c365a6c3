//! Routes for worker pools: list, show, create or replace, delete.

use axum::http::StatusCode;
use rota_engine::{ConfigOrigin, PoolView, Refusal, Reply};
use rota_model::pool::ratio_too_large;
use rota_model::{PoolConfig, PoolName, Rejection, Starvation, Weight, duration, json};
use serde_json::{Map, Value, json};

use crate::http::body::NoBody;
use crate::http::body::{Json, member};
use crate::http::error::{ApiError, ApiResult};
use crate::http::name_pages::{NameWindow, json_bytes};
use crate::http::params::{Params, PathName};
use crate::http::{Access, View, reply};
use crate::runtime::Answer;

/// What credentials for some queues are not enough for.
const CHANGE: &str = "Changing a pool";
/// The most queues of a tenant's pool, as of a fetch. Each decision for it may visit them all.
const MAX_TENANT_QUEUES: usize = 100;

pub(in crate::http) async fn list(app: Access, params: Params) -> ApiResult {
    let look = |view: View<'_>, after: &str, skip, most| {
        (view.pools_after(after, skip, most), view.pool_count())
    };
    let name = |view: &PoolView| app.pool_cursor(&view.name);
    let size = |view: &PoolView| json_bytes(&item(&app, view), 2);
    let window = NameWindow::from_params(&params, 20, 100)?;
    let page = window.read(&app, look, name, size).await?;
    let items: Vec<Value> = page.items.iter().map(|view| item(&app, view)).collect();
    Ok(reply::ok(&json!({"items": items, "pools": items, "pagination": page.pagination})))
}

pub(in crate::http) async fn show(app: Access, name: PathName) -> ApiResult {
    let view = find(&app, &name).await?;
    Ok(reply::ok(&with_pool(item(&app, &view))))
}

/// Creates or replaces a pool: the operator's, or the tenant's that the request comes from.
pub(in crate::http) async fn put(app: Access, name: PathName, body: Json) -> ApiResult {
    let pool = PoolName::parse(name.as_str()).map_err(|error| {
        ApiError::invalid_request(format!("The pool's name {error}.")).detail("field", "pool")
    })?;
    let members = pool_members(body.object()?)?;
    if members.get("name").is_some_and(|given| given.as_str() != Some(name.as_str())) {
        return Err(ApiError::validation("name", "'name' differs from the name in the path."));
    }
    let mut config = PoolConfig::parse(&members)?;
    app.check_all_queues(CHANGE)?;
    if !app.is_operator() {
        check_tenants_pool(&app, &config)?;
    }
    if starvation_rule(&app, &config).promises_too_much(config.queues.len()) {
        return Err(ratio_too_large(config.queues.len())
            .hint(
                "Name fewer queues, give the pool its own 'starvation_prevention', or lower \
                 starvation.min_dispatch_ratio in the server's configuration.",
            )
            .into());
    }
    let order = queue_order(&body);
    config.queues.sort_by_key(|queue| order.iter().position(|name| **name == **queue));
    match app.put_pool(pool, config).await? {
        Reply::Pool { pool, created } => {
            let status = if created { StatusCode::CREATED } else { StatusCode::OK };
            Ok(reply::json(status, &with_pool(item(&app, &pool))))
        }
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// Deletes a definition that was made through the API. If the server's configuration defines the pool,
/// that definition applies again.
pub(in crate::http) async fn remove(app: Access, name: PathName, _: NoBody) -> ApiResult {
    app.check_all_queues(CHANGE)?;
    let view = find(&app, &name).await?;
    if view.origin == ConfigOrigin::File {
        return Err(ApiError::conflict("The pool is defined in the server's configuration.")
            .detail("pool", name.as_str())
            .hint("Remove it there and restart, or PUT another definition over it."));
    }
    match app.remove_pool(view.name.clone()).await? {
        Reply::Pool { .. } => Ok(reply::ok(&json!({"deleted": true, "name": view.name.local()}))),
        Reply::Refused(Refusal::UnknownPool { .. }) => {
            Err(ApiError::not_found("pool", name.as_str()))
        }
        reply => Err(Answer::Reply(reply).into()),
    }
}

/// What a tenant's pool may not have, because it would concern others.
fn check_tenants_pool(app: &Access, config: &PoolConfig) -> Result<(), ApiError> {
    if config.tenants.is_some() {
        let problem = "is for the operator's pools; a tenant's pool is its own";
        return Err(Rejection::value("tenants", problem).hint("Leave 'tenants' out.").into());
    }
    if config.fair {
        let problem = "is for the operator's pools; a tenant's pool serves one tenant";
        return Err(Rejection::value("fair", problem).hint("Leave 'fair' out.").into());
    }
    if config.fairness_scope.is_some() {
        let problem = "is for the operator's pools; a tenant's pool serves one tenant";
        return Err(Rejection::value("fairness_scope", problem)
            .hint("Leave 'fairness_scope' out.")
            .into());
    }
    if config.isolated && !app.is_namespaced() {
        let problem = "is for the operator's pools, because all tenants share the queues";
        return Err(Rejection::value("isolated", problem)
            .hint("Leave 'isolated' out, or ask an operator for a pool that reserves the queue.")
            .into());
    }
    if config.queues.len() > MAX_TENANT_QUEUES {
        let problem = format!(
            "has {} names; a tenant's pool has at most {MAX_TENANT_QUEUES}",
            config.queues.len()
        );
        return Err(Rejection::value("queues", problem).hint("Make several pools.").into());
    }
    Ok(())
}

async fn find(app: &Access, name: &PathName) -> Result<PoolView, ApiError> {
    let unknown = || ApiError::not_found("pool", name.as_str());
    let pool = PoolName::parse(name.as_str()).map_err(|_| unknown())?;
    app.look(move |view| view.pool(&pool)).await?.ok_or_else(unknown)
}

/// The pool's members. One document of the specification has them at the top level, another in `pool`.
fn pool_members(mut members: Map<String, Value>) -> Result<Map<String, Value>, ApiError> {
    match members.remove("pool") {
        None => Ok(members),
        Some(Value::Object(inner)) if members.is_empty() => Ok(inner),
        Some(_) => Err(Rejection::field("pool", "must be an object, and the only member").into()),
    }
}

/// The queues in the order of the body, if `queues` is a map, whose order parsing does not keep. Empty
/// if it is a list.
fn queue_order(body: &Json) -> Vec<String> {
    let find_member = |text: &str, name: &str| -> Option<String> {
        let members = json::members(text, "the pool").ok()?;
        member(&members, name).map(|raw| raw.get().to_owned())
    };
    let pool = find_member(body.text(), "pool").unwrap_or_else(|| body.text().to_owned());
    let Some(queues) = find_member(&pool, "queues").filter(|text| text.starts_with('{')) else {
        return Vec::new();
    };
    let members = json::members(&queues, "'queues'").unwrap_or_default();
    members.into_iter().map(|(name, _)| name.into_owned()).collect()
}

/// The answer with one pool: its members at the top level, and again in `pool`.
fn with_pool(mut item: Value) -> Value {
    item["pool"] = item.clone();
    item
}

fn item(app: &Access, view: &PoolView) -> Value {
    let config = &view.config;
    // Figures of a pool that others use, and who they are, are for operators.
    let is_own = app.is_operator() || view.tenants.is_none();
    // They are counted for all its queues together, which not all credentials are for.
    let is_own = is_own && app.check_all_queues("The load of a pool").is_ok();
    let weights: Map<String, Value> =
        config.weights.iter().map(|(queue, value)| (queue.to_string(), weight(*value))).collect();
    let rule = starvation_rule(app, config);
    let scope = config.fairness_scope.unwrap_or(app.settings.fairness.scope);
    json!({
        "id": view.name.local(),
        "name": view.name.local(),
        "tenant_id": view.name.owner_name(),
        "tenants": view.tenants.as_ref().filter(|_| app.is_operator()),
        "queues": config.queues,
        "concurrency": config.concurrency,
        "strategy": config.strategy.as_str(),
        "weights": weights,
        "isolated": config.isolated,
        "fair": config.fair,
        "starvation_prevention": starvation(rule, config.queues.len()),
        "fairness_scope": scope.as_str(),
        "fairness_scope_inherited": config.fairness_scope.is_none(),
        "active_workers": is_own.then_some(view.active_workers),
        "workers": is_own.then_some(view.active_workers),
        "active_jobs": is_own.then_some(view.active_jobs),
        "utilization": utilization(view).filter(|_| is_own),
        "origin": view.origin.as_str(),
    })
}

/// The pool's active jobs as a fraction of its concurrency; `None` if that is unlimited.
pub(in crate::http) fn utilization(view: &PoolView) -> Option<f64> {
    match view.config.concurrency {
        None => None,
        Some(0) => Some(1.0),
        Some(concurrency) => Some(view.active_jobs as f64 / f64::from(concurrency)),
    }
}

/// The pool's own rule, or else the server's.
fn starvation_rule(app: &Access, config: &PoolConfig) -> Starvation {
    config.starvation.unwrap_or_else(|| app.settings.starvation.rule())
}

fn starvation(rule: Starvation, queues: usize) -> Value {
    json!({
        "enabled": rule.enabled,
        "rotation_interval": duration::format_iso8601(rule.rotation_ms as i64),
        "min_dispatch_ratio": f64::from(rule.ratio_among(queues)) / 1_000_000.0,
    })
}

/// A weight as a JSON number, without a fraction if it has none.
fn weight(weight: Weight) -> Value {
    match weight.hundredths() {
        whole if whole % 100 == 0 => json!(whole / 100),
        _ => json!(weight.value()),
    }
}
