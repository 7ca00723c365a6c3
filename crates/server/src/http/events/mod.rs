//! Events: recent ones as a list, and new ones as streams.

mod channel;
mod data;
mod fairness;
mod feed;
mod form;
mod frame;
mod job_end;
mod json;
mod names;
mod notice;
mod open;
mod query;
mod rate;
mod room;
mod socket;
mod stream;
mod trace;
mod types;

use axum::http::HeaderMap;
use rota_engine::Event;
use serde_json::{Value, json};

pub(super) use self::job_end::JobEnd;
pub(super) use self::open::reserve;
pub(super) use self::open::{stream_all, stream_job, stream_queue};
pub(super) use self::room::Room;
pub(super) use self::socket::{Remembered, connect};

use super::error::{ApiError, ApiResult};
use super::params::Params;
use super::{Access, reply};
use crate::runtime::{EventFilter, Names};

const NO_CHANNEL: &str = "A list of events has no channel.";

/// Refuses parameters of the route that have no meaning in this request.
fn refuse(params: &Params, names: &[&str], text: &str) -> Result<(), ApiError> {
    let given = names.iter().find(|name| params.given(name).is_some());
    given.map_or(Ok(()), |name| {
        Err(ApiError::invalid_request(format!("'{name}' does not apply. {text}"))
            .hint("Leave it out; Accept: text/event-stream asks for a stream.")
            .detail("field", *name))
    })
}

pub(super) async fn list_or_stream(app: Access, headers: HeaderMap, params: Params) -> ApiResult {
    match query::wants_stream(&headers) {
        true => {
            refuse(
                &params,
                &["limit", "since", "page", "per_page"],
                "A stream of events has no pages.",
            )?;
            stream_all(app, headers, params).await
        }
        false => list(&app, &params).await,
    }
}

async fn list(app: &Access, params: &Params) -> ApiResult {
    if ["page", "per_page"].iter().any(|name| params.get(name).is_some()) {
        return pages(app, params).await;
    }
    refuse(params, &["channel"], NO_CHANNEL)?;
    let limit = params.number("limit", 1, 1000, 100)? as usize;
    let after = query::cursor_of(params)?;
    let filter = EventFilter { since: params.time("since")?, ..query::filter_of(app, params)? };
    let now = app.now();
    let page = app.events().after(after, &filter, limit, now);
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

/// Pages by number, the newest events first.
async fn pages(app: &Access, params: &Params) -> ApiResult {
    refuse(params, &["channel"], NO_CHANNEL)?;
    let cursors = ["after", "cursor", "last_event_id", "limit"];
    refuse(params, &cursors, "Pages by number have no cursor and no limit.")?;
    let per_page = params.number("per_page", 1, 1000, 20)? as usize;
    let page = params.number("page", 1, 1_000_000, 1)? as usize;
    let filter = EventFilter { since: params.time("since")?, ..query::filter_of(app, params)? };
    let (events, total) = app.events().newest(&filter, (page - 1) * per_page, per_page);
    let mut names = Names::default();
    names::learn(app, &mut names, events.iter().map(|(_, event)| event)).await?;
    let show = |(id, event): &(_, Event)| {
        let mut item = json::show(*id, event, &names);
        item["timestamp"] = item["time"].clone();
        item
    };
    let items: Vec<Value> = events.iter().map(show).collect();
    let has_more = page * per_page < total;
    Ok(reply::ok(&json!({
        "items": items,
        "pagination": {"total": total, "page": page, "per_page": per_page, "has_more": has_more},
    })))
}
