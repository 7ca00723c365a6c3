//! The paginated list of rate limits.

use rota_engine::{LimitName, LimitSlice, LimitView};
use serde_json::json;

use super::json::partition;
use crate::http::error::{ApiError, ApiResult};
use crate::http::name_pages::{MAX_SKIP, check_depth, fitting, json_bytes};
use crate::http::params::Params;
use crate::http::{Access, View, reply};

/// The most limits that one look at the engine visits for an operator, who sees all of them.
const MAX_VISITED_BY_OPERATOR: usize = MAX_SKIP + 200;
/// The same for a tenant, whose limits may be far apart; a tenant's page may take several looks.
const MAX_VISITED_BY_TENANT: usize = 5_000;
/// The most looks for one page. Entries not found by then follow after the page's cursor.
const MAX_LOOKS: usize = 20;

pub(in crate::http) async fn list(app: Access, params: Params) -> ApiResult {
    let per_page = params.page_size(20, 100)? as usize;
    let skip = params.skipped(per_page as u64)? as usize;
    check_depth("page", skip)?;
    let after = params.cursor()?.map(|cursor| {
        LimitName::from_cursor(cursor).ok_or_else(|| {
            let text = "'cursor' is not a cursor of this list.";
            ApiError::invalid_request(text).detail("field", "cursor")
        })
    });
    let prefix = params.get("prefix").unwrap_or_default().to_owned();
    let mut page = find_page(&app, after.transpose()?, prefix, skip, per_page).await?;
    page.cut(app.settings.limits.answer_bytes);
    let mut pagination =
        json!({"page": skip / per_page + 1, "per_page": per_page, "has_more": page.next.is_some()});
    match page.total {
        Some(total) => pagination["total"] = json!(total),
        None => pagination["total_known"] = json!(false),
    }
    if let Some(next) = page.next {
        pagination["next_cursor"] = json!(next.cursor());
    }
    let items: Vec<_> = page.items.iter().map(|(_, view)| partition(view)).collect();
    Ok(reply::ok(&json!({"items": items, "rate_limits": items, "pagination": pagination})))
}

struct LimitPage {
    items: Vec<(LimitName, LimitView)>,
    /// The limit after which the next page starts, if there is one.
    next: Option<LimitName>,
    /// The length of the whole list, if it is known without visiting all limits.
    total: Option<usize>,
}

impl LimitPage {
    /// Leaves to the next page what does not fit into an answer.
    fn cut(&mut self, max_bytes: usize) {
        let size = |(_, view): &(LimitName, LimitView)| json_bytes(&partition(view), 2);
        let count = fitting(&self.items, max_bytes, size);
        if count < self.items.len() {
            self.items.truncate(count);
            self.next = self.items.last().map(|(name, _)| name.clone());
        }
    }
}

/// Reads one page of the limits that the caller may see.
async fn find_page(
    app: &Access,
    after: Option<LimitName>,
    prefix: String,
    mut skip: usize,
    per_page: usize,
) -> Result<LimitPage, ApiError> {
    let from_start = after.is_none();
    let sees_all = app.is_operator() && prefix.is_empty();
    let max_visited =
        if app.is_operator() { MAX_VISITED_BY_OPERATOR } else { MAX_VISITED_BY_TENANT };
    let (mut items, mut found, mut limit_count) = (Vec::new(), 0, 0);
    let mut stopped_at = after;
    for _ in 0..MAX_LOOKS {
        let (after, prefix) = (stopped_at.take(), prefix.clone());
        // One more entry than the limit shows whether there is another page.
        let range = (skip, per_page + 1 - items.len());
        let look = move |view: View<'_>| {
            let slice = view.slice_of_limits(after.as_ref(), &prefix, range, max_visited);
            (slice, view.operator().map_or(0, rota_engine::Engine::limit_count))
        };
        let (LimitSlice { items: more, found: count, stopped_at: last }, total) =
            app.look(look).await?;
        items.extend(more);
        found += count;
        skip = skip.saturating_sub(count);
        (limit_count, stopped_at) = (total, last);
        if stopped_at.is_none() || items.len() > per_page {
            break;
        }
    }
    let visited_all = from_start && stopped_at.is_none();
    if items.len() > per_page {
        items.truncate(per_page);
        stopped_at = items.last().map(|(name, _)| name.clone());
    }
    let total = if sees_all { Some(limit_count) } else { visited_all.then_some(found) };
    Ok(LimitPage { items, next: stopped_at, total })
}
