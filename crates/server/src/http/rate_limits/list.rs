//! All limits, in pages.

use axum::extract::State;
use rota_engine::{LimitName, LimitView};
use serde_json::json;

use super::json::partition;
use crate::http::caller::caller;
use crate::http::error::{ApiError, ApiResult};
use crate::http::params::Params;
use crate::http::{App, Shared, reply};

/// Limits that the engine is asked for at a time.
const SLICE: usize = 2_000;
/// How many limits are gone over for one page.
const FARTHEST: usize = 200_000;

pub(in crate::http) async fn list(State(app): Shared, params: Params) -> ApiResult {
    let per_page = params.number("per_page", 1, 100, 20)? as usize;
    let page = params.number("page", 1, 1_000_000, 1)? as usize;
    let prefix = params.get("prefix").unwrap_or_default().to_owned();
    let skip = (page - 1) * per_page;
    if skip + per_page > FARTHEST {
        let text = format!("Pages end after {FARTHEST} rate limits.");
        return Err(ApiError::validation("page", text).hint("Narrow the list with 'prefix'."));
    }
    let found = find(&app, prefix, skip, per_page).await?;
    let names = found.names;
    let look = app.handle.look(move |engine| {
        let views = names.iter().filter_map(|name| engine.limit(&name.key, name.tenant.as_ref()));
        views.collect::<Vec<LimitView>>()
    });
    let items: Vec<_> = look.await?.iter().map(partition).collect();
    let mut pagination = json!({"page": page, "per_page": per_page, "has_more": found.has_more});
    match found.total {
        Some(total) => pagination["total"] = json!(total),
        None => pagination["total_known"] = json!(false),
    }
    Ok(reply::ok(&json!({"items": items, "pagination": pagination})))
}

struct Found {
    names: Vec<LimitName>,
    has_more: bool,
    /// Unless there are too many to go over.
    total: Option<usize>,
}

/// Goes over the limits that the caller may see, a slice at a time.
async fn find(app: &App, prefix: String, skip: usize, take: usize) -> Result<Found, ApiError> {
    let caller = caller();
    let seen = |name: &LimitName| match &caller {
        None => true,
        Some(own) => match name.tenant.as_deref().or(name.key.namespace()) {
            Some(tenant) => tenant == &**own,
            None => name.declared,
        },
    };
    // Where nothing is left out, the number of all is known.
    let all = match caller.is_none() && prefix.is_empty() {
        true => Some(app.handle.look(rota_engine::Engine::limit_count).await?),
        false => None,
    };
    let (mut names, mut count, mut visited, mut last) = (Vec::new(), 0, 0, None::<LimitName>);
    loop {
        let (after, beginning) = (last.take(), prefix.clone());
        let look = move |engine: &rota_engine::Engine| {
            engine.limits_after(after.as_ref(), &beginning, SLICE)
        };
        let slice = app.handle.look(look).await?;
        let ended = slice.len() < SLICE;
        visited += slice.len();
        last = slice.last().cloned();
        for name in slice.into_iter().filter(|name| seen(name)) {
            if count >= skip && names.len() < take {
                names.push(name);
            }
            count += 1;
        }
        if ended {
            return Ok(Found { names, has_more: count > skip + take, total: Some(count) });
        }
        if count > skip + take && all.is_some() {
            return Ok(Found { names, has_more: true, total: all });
        }
        if visited >= FARTHEST {
            return Ok(Found { names, has_more: true, total: all });
        }
    }
}
