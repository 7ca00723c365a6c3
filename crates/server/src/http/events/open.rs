//! Requests for streams.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Response};
use bytes::Bytes;
use tokio::sync::mpsc;

use super::super::caller::caller;
use super::super::error::{ApiError, ApiResult};
use super::super::listen::{is_kept_back, may_not_wait};
use super::super::params::{Params, PathName};
use super::super::{App, Shared, cap_reached, queues};
use super::feed::Feed;
use super::notice;
use super::query::{Resume, filter_of, resume_of};
use super::stream::Stream;
use crate::runtime::{EventFilter, Unavailable};

pub(in super::super) async fn stream_all(
    State(app): Shared,
    headers: HeaderMap,
    params: Params,
) -> ApiResult {
    let resume = resume_of(&headers, &params)?;
    let (stream, body) = open(&app, "all".to_owned(), filter_of(&params)).await?;
    Ok(start(stream, body, resume))
}

pub(in super::super) async fn stream_queue(
    State(app): Shared,
    name: PathName,
    headers: HeaderMap,
    params: Params,
) -> ApiResult {
    let resume = resume_of(&headers, &params)?;
    let queue = queues::find(&app, &name).await?.name.local().to_owned();
    let channel = format!("queue:{queue}");
    let filter = EventFilter { queues: vec![queue], ..filter_of(&params) };
    let (stream, body) = open(&app, channel, filter).await?;
    Ok(start(stream, body, resume))
}

/// Ends when the job has ended.
pub(in super::super) async fn stream_job(
    State(app): Shared,
    name: PathName,
    headers: HeaderMap,
    params: Params,
) -> ApiResult {
    let id = name.job()?;
    let resume = resume_of(&headers, &params)?;
    // The stream's place comes first: an end that the record does not show yet is behind it.
    let (mut stream, body) = open(&app, format!("job:{id}"), filter_of(&params)).await?;
    let record = app.record(id).await?;
    let record = record.ok_or_else(|| ApiError::not_found("job", name.as_str()))?;
    stream.filter.job = Some(record.seq);
    stream.finale = notice::end_of(&record);
    Ok(start(stream, body, resume))
}

async fn open(
    app: &Arc<App>,
    channel: String,
    filter: EventFilter,
) -> Result<(Stream, mpsc::Receiver<Bytes>), ApiError> {
    let events = app.handle.events();
    if !events.are_kept() {
        return Err(ApiError::unsupported("This server keeps no events.")
            .hint("Set events.capacity to more than 0."));
    }
    if *events.ending().borrow() {
        return Err(Unavailable::ShuttingDown.into());
    }
    if is_kept_back() {
        return Err(may_not_wait());
    }
    let tenant = caller();
    let named = tenant.clone();
    let look = app.handle.look(move |engine| engine.asker(named.as_ref()).configured);
    let configured = look.await?;
    let room = app.streams.open(tenant, configured);
    let room = room.map_err(|reached| cap_reached::error(&reached))?;
    // One frame under way at a time: who reads slowly falls behind in the ring, not in memory.
    let (out, body) = mpsc::channel(1);
    Ok((Stream::new(app.clone(), channel, filter, out, room), body))
}

fn start(stream: Stream, body: mpsc::Receiver<Bytes>, resume: Resume) -> Response<Body> {
    tokio::spawn(stream.run(resume));
    let mut response = Response::new(Body::new(Feed(body)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // A proxy that gathers answers would hold events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
