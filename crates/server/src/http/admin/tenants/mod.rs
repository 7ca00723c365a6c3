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
use rota_engine::{Engine, Most, ShardView, TenantView, Totals};
use rota_model::TenantId;
use rota_store::Selection;
use serde_json::{Value, json};

use super::fairness;
use crate::http::by_name::check_depth;
use crate::http::caller::caller;
use crate::http::error::{ApiError, ApiResult};
use crate::http::filter::Filter;
use crate::http::page::{self, Window};
use crate::http::params::{Params, PathName};
use crate::http::{App, Shared, dead_letter, engine_slices, reply};

const MOST_PER_PAGE: u64 = 100;
/// Parts of queues that are looked at in one go.
const SHARDS: usize = 1_000;

pub(in crate::http) async fn list(State(app): Shared, params: Params) -> ApiResult {
    params.only(&["page", "per_page", "cursor", "sort"])?;
    let per_page = params.number("per_page", 1, MOST_PER_PAGE, 20)?;
    let page = params.number("page", 1, 1_000_000, 1)?;
    check_depth("page", ((page - 1) * per_page) as usize)?;
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
    let after = params.cursor()?.map(str::to_owned);
    if after.is_some() && most.is_some() {
        return Err(ApiError::invalid_request("A cursor goes only with sort=id.")
            .hint("Use 'page' for other orders."));
    }
    let shown =
        Shown { after, skip: ((page - 1) * per_page) as usize, per_page: per_page as usize };
    let (mut tenants, total) = match (caller(), most) {
        (Some(own), _) => only(&app, own, &shown).await?,
        (None, None) => by_id(&app, &shown).await?,
        (None, Some(most)) => sorted(&app, most, &shown).await?,
    };
    let has_more = tenants.len() > shown.per_page;
    tenants.truncate(shown.per_page);
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
    let shards = shards(&app, &known.view).await?;
    Ok(reply::ok(&json::whole(&known.view, &known.totals, &shards)))
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
    let shards = shards(&app, &known.view).await?;
    Ok(reply::ok(&json::stats(&known.view, &known.totals, &shards)))
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
    params.only(&["page", "per_page"])?;
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

/// A tenant's parts of queues, a slice at a time.
async fn shards(app: &App, view: &TenantView) -> Result<Vec<ShardView>, ApiError> {
    let id = view.id.clone();
    let look = move |engine: &Engine, from, most| engine.shards_of_tenant(&id, from, most);
    engine_slices::gather(app, SHARDS, look).await
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

/// The tenants of a page and one more, if there is one, and how many there are.
type Page = (Vec<TenantView>, usize);

/// In the order of their ids: one look.
async fn by_id(app: &App, shown: &Shown) -> Result<Page, ApiError> {
    let (skip, take) = (shown.skip, shown.per_page + 1);
    let after = shown.after.clone().unwrap_or_default();
    let look = app.handle.look(move |engine| {
        let ids = engine.tenant_ids_after(&after, skip, take);
        (engine.tenants(&ids), engine.tenant_count())
    });
    Ok(look.await?)
}

/// By what they have: all are looked at, a slice at a time, and then those of the page.
async fn sorted(app: &App, most: Most, shown: &Shown) -> Result<Page, ApiError> {
    let look = move |engine: &Engine, from, slice| engine.possessions(most, from, slice);
    let mut all = engine_slices::gather(app, fairness::SLICE, look).await?;
    all.sort_unstable_by(|(a, own), (b, other)| b.cmp(a).then_with(|| own.cmp(other)));
    let total = all.len();
    let page = all.into_iter().map(|(_, id)| id).skip(shown.skip).take(shown.per_page + 1);
    let ids: Vec<TenantId> = page.collect();
    Ok((app.handle.look(move |engine| engine.tenants(&ids)).await?, total))
}

/// The same for a caller, who sees nobody but itself.
async fn only(app: &App, own: TenantId, shown: &Shown) -> Result<Page, ApiError> {
    let behind = shown.after.as_ref().is_none_or(|after| **after < *own) && shown.skip == 0;
    let look = app.handle.look(move |engine| {
        let known = engine.tenant(&own);
        let total = usize::from(known.is_some());
        (known.filter(|_| behind).into_iter().collect(), total)
    });
    Ok(look.await?)
}
