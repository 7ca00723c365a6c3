//! Events: recent ones as a list, and new ones as streams.

mod channel;
mod data;
mod fairness;
mod feed;
mod form;
mod frame;
mod frames;
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

use axum::http::{HeaderMap, StatusCode};
use rota_engine::Event;
use serde_json::{Value, json};

pub(super) use self::frames::Frames;
pub(super) use self::job_end::JobEnd;
pub(super) use self::open::reserve;
pub(super) use self::open::{stream_all, stream_job, stream_queue};
pub(super) use self::room::Room;
pub(super) use self::socket::{Remembered, connect};

use super::bounded_list::BoundedList;
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
    let filter = EventFilter { since: params.time("since")?, ..query::filter_of(params)? };
    let now = app.now();
    let page = app.events().after(after, filter, limit, now);
    let mut names = Names::default();
    names::learn(app, &mut names, page.events.iter().map(|(_, event)| event)).await?;
    let mut list = BoundedList::new(b"{\"events\":[", app.settings.limits.answer_bytes);
    let (mut cursor, mut has_more) = (page.cursor, page.has_more);
    let mut last = None;
    for (id, event) in &page.events {
        if !list.push(|out| write(out, &json::show(*id, event, &names))) {
            (cursor, has_more) = (last, true);
            break;
        }
        last = Some(*id);
    }
    let cursor = json!(cursor.map(json::event_id));
    let closing = format!("],\"cursor\":{cursor},\"has_more\":{has_more},\"gap\":{}}}", page.gap);
    Ok(reply::raw(StatusCode::OK, list.finish(closing.as_bytes())))
}

/// Pages by number, the newest events first.
async fn pages(app: &Access, params: &Params) -> ApiResult {
    refuse(params, &["channel"], NO_CHANNEL)?;
    let cursors = ["after", "cursor", "last_event_id", "limit"];
    refuse(params, &cursors, "Pages by number have no cursor and no limit.")?;
    let per_page = params.number("per_page", 1, 1000, 20)? as usize;
    let page = params.number("page", 1, 1_000_000, 1)? as usize;
    let filter = EventFilter { since: params.time("since")?, ..query::filter_of(params)? };
    let (events, total) = app.events().newest(filter, (page - 1) * per_page, per_page);
    let mut names = Names::default();
    names::learn(app, &mut names, events.iter().map(|(_, event)| event)).await?;
    let show = |(id, event): &(_, Event)| {
        let mut item = json::show(*id, event, &names);
        item["timestamp"] = item["time"].clone();
        item
    };
    let mut list = BoundedList::new(b"{\"items\":[", app.settings.limits.answer_bytes);
    let is_cut = !events.iter().all(|event| list.push(|out| write(out, &show(event))));
    let has_more = is_cut || page * per_page < total;
    let mut pagination =
        json!({"total": total, "page": page, "per_page": per_page, "has_more": has_more});
    if is_cut {
        // The next page would pass over the rest of this one.
        pagination["truncated"] = json!(true);
    }
    let closing = format!("],\"pagination\":{pagination}}}");
    Ok(reply::raw(StatusCode::OK, list.finish(closing.as_bytes())))
}

fn write(out: &mut Vec<u8>, event: &Value) {
    serde_json::to_writer(out, event).expect("events are plain data");
}
