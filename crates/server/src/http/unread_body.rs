//! Tells whether a request's body was read to its end. The connection cannot be used again otherwise.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, HttpBody};
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Response};
use hyper::body::{Frame, SizeHint};

/// A body that records its end.
pub(super) struct WatchedBody<B> {
    body: Pin<Box<B>>,
    ended: Arc<AtomicBool>,
}

/// Says whether a [`WatchedBody`] was read to its end.
pub(super) struct BodyEnd(Arc<AtomicBool>);

impl<B: HttpBody> WatchedBody<B> {
    pub fn new(body: B) -> (Self, BodyEnd) {
        let ended = Arc::new(AtomicBool::new(body.is_end_stream()));
        (Self { body: Box::pin(body), ended: ended.clone() }, BodyEnd(ended))
    }
}

impl BodyEnd {
    pub fn was_reached(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl<B: HttpBody> HttpBody for WatchedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = self.body.as_mut().poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            self.ended.store(true, Ordering::Relaxed);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Announces that the connection ends with this answer, because the rest of the request is still to come.
pub(super) fn announce_close(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
