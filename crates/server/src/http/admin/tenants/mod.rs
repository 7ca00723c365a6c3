//! Tenants, as an operator sees and handles them.

mod change;
mod delete;
mod json;
mod usage;

pub(in crate::http) use change::{merge, put, release};
pub(in crate::http) use delete::delete;
pub(in crate::http) use json::{number, throttle};
pub(in crate::http) use usage::usage;

use axum::extract::State;
use axum::http::StatusCode;
use rota_engine::{Engine, Most, TenantView, Totals};
use rota_model::TenantId;
use rota_store::Selection;
use serde_json::{Value, json};

use super::fairness;
use crate::http::caller::caller;
use crate::http::error::{ApiError, ApiResult};
use crate::http::filter::Filter;
use crate::http::page::{self, Window};
use crate::http::params::{Params, PathName};
use crate::http::{App, Shared, dead_letter, reply, slices};

const MOST_PER_PAGE: u64 = 100;

pub(in crate::http) async fn list(State(app): Shared, params: Params) -> ApiResult {
    let per_page = params.number("per_page", 1, MOST_PER_PAGE, 20)?;
    let page = params.number("page", 1, 1_000_000, 1)?;
    let most = match params.get("sort") {
        None | Some("id") => None,
        Some("depth") => Some(Most::Waiting),
        Some("active") => Some(Most::Active),
        Some("enqueued") => Some(Most::Enqueued),
        Some(_) => {
            return Err(ApiError::invalid_request("'sort' must be id, depth, active or enqueued.")
                .detail("field", "sort"));
        }
    };
    let after = params.get("cursor").map(str::to_owned);
    if after.is_some() && most.is_some() {
        return Err(ApiError::invalid_request("A cursor goes only with sort=id.")
            .hint("Use 'page' for other orders."));
    }
    let shown =
        Shown { after, skip: ((page - 1) * per_page) as usize, per_page: per_page as usize };
    let (mut ids, total) = match caller() {
        Some(own) => only(&app, own, &shown).await?,
        None => visible(&app, most, &shown).await?,
    };
    let has_more = ids.len() > shown.per_page;
    ids.truncate(shown.per_page);
    let tenants = app.handle.look(move |engine| engine.tenants(&ids)).await?;
    let mut pagination =
        json!({"total": total, "page": page, "per_page": per_page, "has_more": has_more});
    if let Some(last) = tenants.last().filter(|_| has_more && most.is_none()) {
        pagination["next_cursor"] = json!(last.id);
    }
    let items: Vec<Value> = tenants.iter().map(json::summary).collect();
    Ok(reply::ok(&json!({"items": items, "tenants": items, "pagination": pagination})))
}

pub(in crate::http) async fn show(State(app): Shared, name: PathName) -> ApiResult {
    let known = find(&app, &name).await?;
    Ok(reply::ok(&json::whole(&known.view, &known.totals)))
}

/// The limits, and how much of them is used.
pub(in crate::http) async fn limits(State(app): Shared, name: PathName) -> ApiResult {
    let view = find(&app, &name).await?.view;
    let mut shown = json::config(&view.config);
    shown["tenant_id"] = json!(view.id);
    shown["origin"] = json!(view.origin.as_str());
    shown["limits"] = json::use_of_limits(&view);
    Ok(reply::ok(&shown))
}

pub(in crate::http) async fn stats(State(app): Shared, name: PathName) -> ApiResult {
    let known = find(&app, &name).await?;
    Ok(reply::ok(&json::stats(&known.view, &known.totals)))
}

pub(in crate::http) async fn jobs(State(app): Shared, name: PathName, params: Params) -> ApiResult {
    let tenant = find(&app, &name).await?.view.id;
    let filter = Filter::from_params(&params, Selection::ALL)?.of_tenant(tenant);
    let window = Window::from_params(&params, "per_page", 20, 100)?;
    let found = page::find(&app, &filter, &window).await?;
    Ok(reply::raw(StatusCode::OK, dead_letter::listing("items", &found.records, &found.pagination)))
}

/// What was done to a tenant, the last first.
pub(in crate::http) async fn changes(
    State(app): Shared,
    name: PathName,
    params: Params,
) -> ApiResult {
    let per_page = params.number("per_page", 1, MOST_PER_PAGE, 20)?;
    let page = params.number("page", 1, 1_000_000, 1)?;
    let skip = (page - 1) * per_page;
    let changes = find(&app, &name).await?.view.changes;
    let shown = changes.iter().rev().skip(skip as usize).take(per_page as usize);
    let items: Vec<Value> = shown.map(json::change).collect();
    let has_more = skip + per_page < changes.len() as u64;
    Ok(reply::ok(&json!({
        "items": items,
        "pagination": {
            "total": changes.len(), "page": page, "per_page": per_page, "has_more": has_more,
        },
    })))
}

/// A tenant, and how many jobs of it there are.
struct Known {
    view: TenantView,
    totals: Totals,
}

async fn find(app: &App, name: &PathName) -> Result<Known, ApiError> {
    let id = id_of(name)?;
    let look = app.handle.look(move |engine| {
        let totals = engine.totals_of_tenant(&id);
        engine.tenant(&id).map(|view| Known { view, totals })
    });
    look.await?.ok_or_else(|| unknown(name))
}

/// The tenant in the path. For a caller there is none but itself.
fn id_of(name: &PathName) -> Result<TenantId, ApiError> {
    let id = TenantId::parse(name.as_str()).map_err(|_| unknown(name))?;
    match caller() {
        Some(own) if own != id => Err(unknown(name)),
        _ => Ok(id),
    }
}

fn unknown(name: &PathName) -> ApiError {
    ApiError::not_found("tenant", name.as_str())
}

/// Which tenants of a list are wanted.
struct Shown {
    after: Option<String>,
    skip: usize,
    per_page: usize,
}

/// The ids of a page and one more, if there is one, and how many tenants there are.
async fn visible(
    app: &App,
    most: Option<Most>,
    shown: &Shown,
) -> Result<(Vec<TenantId>, usize), ApiError> {
    let (skip, take) = (shown.skip, shown.per_page + 1);
    let Some(most) = most else {
        let after = shown.after.clone().unwrap_or_default();
        let look = app.handle.look(move |engine| {
            (engine.tenant_ids_after(&after, skip, take), engine.tenant_count())
        });
        return Ok(look.await?);
    };
    let look = move |engine: &Engine, from, slice| engine.possessions(most, from, slice);
    let mut all = slices::gather(app, fairness::SLICE, look).await?;
    all.sort_unstable_by(|(a, own), (b, other)| b.cmp(a).then_with(|| own.cmp(other)));
    let total = all.len();
    Ok((all.into_iter().map(|(_, id)| id).skip(skip).take(take).collect(), total))
}

/// The same for a caller, who sees nobody but itself.
async fn only(app: &App, own: TenantId, shown: &Shown) -> Result<(Vec<TenantId>, usize), ApiError> {
    let id = own.clone();
    let known = app.handle.look(move |engine| engine.knows_tenant(&id)).await?;
    let behind = shown.after.as_ref().is_none_or(|after| **after < *own);
    let ids = Vec::from_iter((known && behind && shown.skip == 0).then_some(own));
    Ok((ids, usize::from(known)))
}
