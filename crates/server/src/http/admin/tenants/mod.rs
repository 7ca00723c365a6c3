//! Admin routes for tenants.

mod change;
mod delete;
mod json;
mod usage;

pub(in crate::http) use change::{merge, put, release};
pub(in crate::http) use delete::delete;
pub(in crate::http) use json::{number, throttle};
pub(in crate::http) use usage::usage;

use rota_engine::{RankBy, ShardView, TenantView, Totals};
use rota_model::TenantId;
use rota_store::Selection;
use serde_json::{Value, json};

use super::fairness;
use crate::http::error::{ApiError, ApiResult, excerpt};
use crate::http::filter::Filter;
use crate::http::job_pages::{self, Window};
use crate::http::name_pages::{check_depth, fitting, json_bytes};
use crate::http::params::{Params, PathName};
use crate::http::{Access, View, engine_slices, reply};

/// What a tenant may not do.
const LIST: &str = "Listing all tenants";
const MAX_PER_PAGE: u64 = 100;
/// Shards per slice.
const SHARDS: usize = 1_000;

pub(in crate::http) async fn list(app: Access, params: Params) -> ApiResult {
    let per_page = params.number("per_page", 1, MAX_PER_PAGE, 20)?;
    let page = params.number("page", 1, 1_000_000, 1)?;
    check_depth("page", ((page - 1) * per_page) as usize)?;
    let rank_by = match params.get("sort") {
        None | Some("id") => None,
        Some("depth") => Some(RankBy::Waiting),
        Some("active") => Some(RankBy::Active),
        Some("enqueued") => Some(RankBy::Enqueued),
        Some(other) => {
            let text = format!(
                "'sort' is '{}'; it must be id, depth, active or enqueued.",
                excerpt(other)
            );
            return Err(ApiError::invalid_request(text).detail("field", "sort"));
        }
    };
    let after = params.cursor()?.map(str::to_owned);
    if after.is_some() && rank_by.is_some() {
        return Err(ApiError::invalid_request("'cursor' can only be used with sort=id.")
            .hint("Use 'page' for other orders."));
    }
    let window =
        ListWindow { after, skip: ((page - 1) * per_page) as usize, per_page: per_page as usize };
    let (mut tenants, total) = match (app.tenant(), rank_by) {
        (Some(own), _) => list_caller(&app, own.clone(), &window).await?,
        (None, None) => list_by_id(&app, &window).await?,
        (None, Some(rank_by)) => list_ranked(&app, rank_by, &window).await?,
    };
    let length = tenants.len();
    tenants.truncate(window.per_page);
    let size = |tenant: &TenantView| json_bytes(&json::summary(tenant), 2);
    tenants.truncate(fitting(&tenants, app.settings.limits.answer_bytes, size));
    let has_more = tenants.len() < length;
    let is_cut = has_more && tenants.len() < window.per_page;
    let mut pagination =
        json!({"total": total, "page": page, "per_page": per_page, "has_more": has_more});
    if let Some(last) = tenants.last().filter(|_| has_more && rank_by.is_none()) {
        pagination["next_cursor"] = json!(last.id);
    } else if is_cut {
        // The next page would pass over the rest of this one.
        pagination["truncated"] = json!(true);
    }
    let items: Vec<Value> = tenants.iter().map(json::summary).collect();
    Ok(reply::ok(&json!({"items": items, "tenants": items, "pagination": pagination})))
}

pub(in crate::http) async fn show(app: Access, name: PathName) -> ApiResult {
    let tenant = find(&app, &name).await?;
    let shards = shards(&app, &tenant.view).await?;
    Ok(reply::ok(&json::details(&tenant.view, &tenant.totals, &shards)))
}

/// The tenant's limits with their current usage.
pub(in crate::http) async fn limits(app: Access, name: PathName) -> ApiResult {
    let view = find(&app, &name).await?.view;
    let mut shown = json::config(&view.config);
    shown["tenant_id"] = json!(view.id);
    shown["origin"] = json!(view.origin.as_str());
    shown["limits"] = json::limit_usage(&view);
    Ok(reply::ok(&shown))
}

pub(in crate::http) async fn stats(app: Access, name: PathName) -> ApiResult {
    let tenant = find(&app, &name).await?;
    let shards = shards(&app, &tenant.view).await?;
    Ok(reply::ok(&json::stats(&tenant.view, &tenant.totals, &shards)))
}

pub(in crate::http) async fn jobs(app: Access, name: PathName, params: Params) -> ApiResult {
    let tenant = id_of(&app, &name)?;
    let id = tenant.clone();
    if !app.look(move |view| view.has_tenant(&id)).await? {
        return Err(unknown(&name));
    }
    let filter = Filter::from_params(&app, &params, Selection::ALL)?.of_tenant(tenant);
    let window = Window::from_params(&params, 20, 100)?;
    job_pages::answer(&app, &filter, &window).await
}

/// The changes to a tenant's configuration, newest first.
pub(in crate::http) async fn changes(app: Access, name: PathName, params: Params) -> ApiResult {
    let per_page = params.number("per_page", 1, MAX_PER_PAGE, 20)?;
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

/// A tenant, and its number of jobs in each state.
struct Found {
    view: TenantView,
    totals: Totals,
}

async fn find(app: &Access, name: &PathName) -> Result<Found, ApiError> {
    let id = id_of(app, name)?;
    app.check_all_queues("A tenant's record")?;
    let look = app.look(move |view| {
        let totals = view.totals_of_tenant(&id);
        view.tenant(&id).map(|view| Found { view, totals })
    });
    look.await?.ok_or_else(|| unknown(name))
}

/// A tenant's shards, read in slices.
async fn shards(app: &Access, view: &TenantView) -> Result<Vec<ShardView>, ApiError> {
    let id = view.id.clone();
    let look = move |view: View<'_>, from, most| view.shards_of_tenant(&id, from, most);
    engine_slices::gather(app, SHARDS, look).await
}

/// The tenant in the path. For a tenant, other tenants do not exist.
fn id_of(app: &Access, name: &PathName) -> Result<TenantId, ApiError> {
    let id = TenantId::parse(name.as_str()).map_err(|_| unknown(name))?;
    match app.tenant() {
        Some(own) if *own != id => Err(unknown(name)),
        _ => Ok(id),
    }
}

fn unknown(name: &PathName) -> ApiError {
    ApiError::not_found("tenant", name.as_str())
}

/// The page of tenants that a request asks for.
struct ListWindow {
    after: Option<String>,
    skip: usize,
    per_page: usize,
}

/// The tenants of a page, and one more if there is another page; and the length of the whole list.
type Page = (Vec<TenantView>, usize);

/// A page of tenants sorted by id.
async fn list_by_id(app: &Access, window: &ListWindow) -> Result<Page, ApiError> {
    let (skip, take) = (window.skip, window.per_page + 1);
    let after = window.after.clone().unwrap_or_default();
    let look = app.operator(LIST)?.look(move |engine| {
        let ids = engine.tenant_ids_after(&after, skip, take);
        (engine.tenants(&ids), engine.tenant_count())
    });
    Ok(look.await?)
}

/// A page of tenants sorted by a number, largest first: reads that number of all tenants in slices, then
/// the tenants of the page.
async fn list_ranked(app: &Access, rank_by: RankBy, window: &ListWindow) -> Result<Page, ApiError> {
    let look = move |view: View<'_>, from, slice| {
        let engine = view.operator();
        engine.map_or_else(Default::default, |engine| engine.tenant_ranking(rank_by, from, slice))
    };
    let mut all = engine_slices::gather(app, fairness::SLICE, look).await?;
    all.sort_unstable_by(|(a, id_a), (b, id_b)| b.cmp(a).then_with(|| id_a.cmp(id_b)));
    let total = all.len();
    let page = all.into_iter().map(|(_, id)| id).skip(window.skip).take(window.per_page + 1);
    let ids: Vec<TenantId> = page.collect();
    Ok((app.operator(LIST)?.look(move |engine| engine.tenants(&ids)).await?, total))
}

/// The list for a tenant, which sees only itself.
async fn list_caller(
    app: &Access,
    caller: TenantId,
    window: &ListWindow,
) -> Result<Page, ApiError> {
    app.check_all_queues("A tenant's record")?;
    let is_on_page =
        window.after.as_ref().is_none_or(|after| **after < *caller) && window.skip == 0;
    let look = app.look(move |view| {
        let tenant = view.tenant(&caller);
        let total = usize::from(tenant.is_some());
        (tenant.filter(|_| is_on_page).into_iter().collect(), total)
    });
    Ok(look.await?)
}
