//! All limits, in pages.

use axum::extract::State;
use rota_engine::{Engine, LimitName, LimitSlice, LimitView};
use rota_model::TenantId;
use serde_json::json;

use super::json::partition;
use crate::http::caller::caller;
use crate::http::error::{ApiError, ApiResult};
use crate::http::params::Params;
use crate::http::{App, Shared, reply};

/// How deep pages by number go. Cursors have no such bound.
const DEEPEST: usize = 100_000;
/// Limits that one look goes over for an operator, who sees them all, and for a tenant, who may have to
/// pass over those of others. A tenant's page may take several looks.
const MOST_OF_ALL: usize = DEEPEST + 200;
const MOST_OF_OTHERS: usize = 5_000;
/// Looks for one page. Whatever was not found by then is behind the page's cursor.
const MOST_LOOKS: usize = 20;

pub(in crate::http) async fn list(State(app): Shared, params: Params) -> ApiResult {
    params.only(&["page", "per_page", "cursor", "prefix"])?;
    let per_page = params.number("per_page", 1, 100, 20)? as usize;
    let page = params.number("page", 1, 1_000_000, 1)? as usize;
    let skip = (page - 1) * per_page;
    if skip > DEEPEST {
        let text = format!("Pages by number end after {DEEPEST} entries.");
        return Err(ApiError::validation("page", text)
            .hint("Follow 'next_cursor' with ?cursor=... to go on; that has no end."));
    }
    let after = params.cursor()?.map(|cursor| {
        LimitName::from_cursor(cursor).ok_or_else(|| {
            let text = "'cursor' is none that this list gave out.";
            ApiError::invalid_request(text).detail("field", "cursor")
        })
    });
    let prefix = params.get("prefix").unwrap_or_default().to_owned();
    let found = find(&app, after.transpose()?, prefix, skip, per_page).await?;
    let mut pagination =
        json!({"page": page, "per_page": per_page, "has_more": found.next.is_some()});
    match found.total {
        Some(total) => pagination["total"] = json!(total),
        None => pagination["total_known"] = json!(false),
    }
    if let Some(next) = found.next {
        pagination["next_cursor"] = json!(next.cursor());
    }
    let items: Vec<_> = found.items.iter().map(partition).collect();
    Ok(reply::ok(&json!({"items": items, "pagination": pagination})))
}

struct Found {
    items: Vec<LimitView>,
    /// The last limit of the page, where others follow.
    next: Option<LimitName>,
    /// Where that is known without going over all of them.
    total: Option<usize>,
}

/// The page that the caller may see.
async fn find(
    app: &App,
    after: Option<LimitName>,
    prefix: String,
    mut skip: usize,
    per_page: usize,
) -> Result<Found, ApiError> {
    let caller = caller();
    let from_start = after.is_none();
    let sees_all = caller.is_none() && prefix.is_empty();
    let most = if caller.is_none() { MOST_OF_ALL } else { MOST_OF_OTHERS };
    let (mut items, mut found, mut all) = (Vec::new(), 0, 0);
    let mut stopped_at = after;
    for _ in 0..MOST_LOOKS {
        let (after, prefix, caller) = (stopped_at.take(), prefix.clone(), caller.clone());
        // One more than wanted tells whether anything follows.
        let range = (skip, per_page + 1 - items.len());
        let look = move |engine: &Engine| {
            let wanted = |name: &LimitName| may_see(caller.as_ref(), name);
            let slice = engine.slice_of_limits(after.as_ref(), &prefix, wanted, range, most);
            (slice, engine.limit_count())
        };
        let (LimitSlice { items: more, found: count, stopped_at: last }, known) =
            app.handle.look(look).await?;
        items.extend(more);
        found += count;
        skip = skip.saturating_sub(count);
        (all, stopped_at) = (known, last);
        if stopped_at.is_none() || items.len() > per_page {
            break;
        }
    }
    let went_over_all = from_start && stopped_at.is_none();
    if items.len() > per_page {
        items.truncate(per_page);
        stopped_at = items.last().map(|(name, _)| name.clone());
    }
    let total = if sees_all { Some(all) } else { went_over_all.then_some(found) };
    Ok(Found { items: items.into_iter().map(|(_, view)| view).collect(), next: stopped_at, total })
}

/// A tenant sees its own limits, and what an operator has declared for all.
fn may_see(caller: Option<&TenantId>, name: &LimitName) -> bool {
    let Some(own) = caller else { return true };
    match name.tenant.as_deref().or(name.key.namespace()) {
        Some(tenant) => tenant == &**own,
        None => name.declared,
    }
}
