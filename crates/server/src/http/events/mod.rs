//! Events: the last ones, to be polled, and all that follow, as streams.

mod data;
mod fairness;
mod feed;
mod frame;
mod json;
mod names;
mod notice;
mod open;
mod query;
mod room;
mod stream;

use axum::extract::State;
use axum::http::HeaderMap;
use serde_json::{Value, json};

pub(super) use self::open::{stream_all, stream_job, stream_queue};
pub(super) use self::room::Room;

use super::error::{ApiError, ApiResult};
use super::params::Params;
use super::{App, Shared, reply};
use crate::runtime::Names;

pub(super) async fn list_or_stream(
    State(app): Shared,
    headers: HeaderMap,
    params: Params,
) -> ApiResult {
    match query::wants_stream(&headers) {
        true if params.get("limit").is_some() => {
            Err(ApiError::invalid_request("A stream of events has no 'limit'.")
                .hint("Leave it out, or ask for Accept: application/json.")
                .detail("field", "limit"))
        }
        true => stream_all(State(app), headers, params).await,
        false => list(&app, &params).await,
    }
}

async fn list(app: &App, params: &Params) -> ApiResult {
    let limit = params.number("limit", 1, 1000, 100)? as usize;
    let after = query::cursor_of(params)?;
    let page = app.handle.events().after(after, &query::filter_of(params), limit);
    let mut names = Names::default();
    names::learn(app, &mut names, page.events.iter().map(|(_, event)| event)).await?;
    let events: Vec<Value> =
        page.events.iter().map(|(id, event)| json::show(*id, event, &names)).collect();
    Ok(reply::ok(&json!({
        "events": events,
        "cursor": page.cursor.map(json::event_id),
        "has_more": page.has_more,
        "gap": page.gap,
    })))
}
