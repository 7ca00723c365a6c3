//! Pages of jobs in an order that no index has.

use rota_model::{Millis, Seq};
use rota_store::{Order, Record};

use super::{Found, MAX_DEPTH, Sort, Window, max_bytes};
use crate::http::Access;
use crate::http::access::ScopedQuery;
use crate::http::error::ApiError;

/// The most slices in which the jobs are read to find out their order.
const MAX_SLICES: usize = 64;
/// The most bytes of a slice.
const SLICE_BYTES: usize = 4 << 20;

/// Sorts all matching jobs, if they are few enough, and reads those of the page. Such lists have page
/// numbers but no cursors.
pub(super) async fn read(
    app: &Access,
    query: ScopedQuery,
    window: &Window,
) -> Result<Found, ApiError> {
    if window.after.is_some() {
        return Err(ApiError::invalid_request("'cursor' can only be used with sort=created_at.")
            .detail("field", "cursor")
            .hint("Use 'page' for other orders."));
    }
    let mut keys = keys(app, query, window.sort).await?;
    keys.sort_unstable();
    if window.order == Order::NewestFirst {
        keys.reverse();
    }
    let page = keys.iter().map(|(_, seq)| *seq).skip(window.skip);
    let seqs: Vec<Seq> = page.take(window.limit).collect();
    let records = app.records(seqs.clone(), max_bytes(app)).await?;
    let is_cut = records.len() < seqs.len();
    let has_more = is_cut || keys.len() > window.skip + window.limit;
    let records = records.into_iter().flatten().collect();
    Ok(Found { records, next: None, has_more })
}

/// What the jobs are sorted by, and their numbers. The jobs are read in slices, of which only this is kept.
async fn keys(
    app: &Access,
    mut query: ScopedQuery,
    sort: Sort,
) -> Result<Vec<(i64, Seq)>, ApiError> {
    let mut keys = Vec::new();
    for _ in 0..MAX_SLICES {
        query.set_extent(0, MAX_DEPTH as usize + 1 - keys.len(), SLICE_BYTES);
        let page = app.list(query.clone()).await?;
        keys.extend(page.records.iter().map(|record| (sort_key(record, sort), record.seq)));
        if keys.len() > MAX_DEPTH as usize {
            break;
        }
        match page.next {
            Some(next) => query.set_after(Some(next)),
            None => return Ok(keys),
        }
    }
    Err(ApiError::validation(
        "sort",
        format!("More than {MAX_DEPTH} jobs match, or too many bytes of jobs, to be sorted."),
    )
    .hint("Narrow the filter, or sort by created_at."))
}

fn sort_key(record: &Record, sort: Sort) -> i64 {
    #[derive(serde::Deserialize)]
    struct Keys {
        priority: Option<i64>,
        scheduled_at: Option<String>,
    }
    let text = format!("{{{}}}", String::from_utf8_lossy(&record.body.json));
    let Ok(keys) = serde_json::from_str::<Keys>(&text) else { return 0 };
    match sort {
        Sort::Priority => keys.priority.unwrap_or(0),
        Sort::Scheduled => keys
            .scheduled_at
            .and_then(|text| Millis::parse_rfc3339(&text).ok())
            .map_or(record.body.created.0, |time| time.0),
        Sort::Created => record.body.created.0,
    }
}
