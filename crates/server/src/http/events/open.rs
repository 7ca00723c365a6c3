//! Routes that open event streams.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Response};
use bytes::Bytes;
use tokio::sync::mpsc;

use super::super::error::{ApiError, ApiResult};
use super::super::listen::{is_kept_back, may_not_wait};
use super::super::params::{Params, PathName};
use super::super::{Access, cap_reached};
use super::channel::Channel;
use super::feed::Feed;
use super::form::Form;
use super::query::{Resume, channel_filter, filter_of, resume_of};
use super::room::Open;
use super::stream::Stream;
use crate::runtime::Unavailable;

/// All events in their envelopes, or those of a channel in their flat form.
pub(in super::super) async fn stream_all(
    app: Access,
    headers: HeaderMap,
    params: Params,
) -> ApiResult {
    match params.given("channel") {
        Some(name) => stream_channel(&app, &Channel::parse(name)?, &headers, &params).await,
        None => {
            let resume = resume_of(&headers, &params)?;
            let (out, body) = one_at_a_time();
            let stream = Stream::new(app.clone(), filter_of(&params)?, out, reserve(&app).await?);
            Ok(start(&app, stream, body, resume))
        }
    }
}

pub(in super::super) async fn stream_queue(
    app: Access,
    name: PathName,
    headers: HeaderMap,
    params: Params,
) -> ApiResult {
    stream_channel(&app, &Channel::Queue(name), &headers, &params).await
}

pub(in super::super) async fn stream_job(
    app: Access,
    name: PathName,
    headers: HeaderMap,
    params: Params,
) -> ApiResult {
    stream_channel(&app, &Channel::Job(name), &headers, &params).await
}

async fn stream_channel(
    app: &Access,
    channel: &Channel,
    headers: &HeaderMap,
    params: &Params,
) -> ApiResult {
    let resume = resume_of(headers, params)?;
    let mut filter = channel_filter(params)?;
    let form = Form::Flat(std::mem::take(&mut filter.types));
    let (out, body) = one_at_a_time();
    let mut stream = Stream::new(app.clone(), filter, out, reserve(app).await?);
    stream.join(channel.scope(app).await?, form);
    Ok(start(app, stream, body, resume))
}

/// Room for one more stream or socket of the caller.
pub(in super::super) async fn reserve(app: &Access) -> Result<Open, ApiError> {
    let events = app.events();
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
    let configured = app.look(|view| view.is_configured()).await?;
    let room = app.streams.open(app.tenant().cloned(), configured);
    room.map_err(|reached| cap_reached::error(&reached))
}

/// One frame under way at a time: who reads slowly falls behind in the ring, not in memory.
fn one_at_a_time() -> (mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>) {
    mpsc::channel(1)
}

fn start(
    app: &Access,
    stream: Stream,
    body: mpsc::Receiver<Bytes>,
    resume: Resume,
) -> Response<Body> {
    app.turns().spawn(stream.run(resume));
    let mut response = Response::new(Body::new(Feed::new(body)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // A proxy that gathers answers would hold events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
