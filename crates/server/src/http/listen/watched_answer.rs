//! The body of an answer with claims, which tells its connection when it was handed over completely.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::frames::Content;
use super::outgoing::Outgoing;
use crate::http::claims_in_answer::ClaimsInAnswer;

pub(super) struct WatchedAnswer {
    body: Body,
    outgoing: Arc<Outgoing>,
    /// Bytes that the connection had written before.
    before: u64,
    /// What was handed over so far, for HTTP/2.
    content: Option<Content>,
    state: State,
}

enum State {
    /// Some of it is still to be handed over.
    Begun(ClaimsInAnswer),
    /// All of it was handed over. The connection has it under this ticket.
    Complete(u64),
    Over,
}

impl WatchedAnswer {
    pub fn new(
        body: Body,
        claims: ClaimsInAnswer,
        outgoing: Arc<Outgoing>,
        by_content: bool,
    ) -> Self {
        let before = outgoing.written();
        let content = by_content.then(Content::default);
        Self { body, outgoing, before, content, state: State::Begun(claims) }
    }

    fn complete(&mut self) {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Begun(claims) => {
                let digest = self.content.as_ref().map(Content::digest);
                let ticket = self.outgoing.complete(claims, self.before, digest);
                self.state = State::Complete(ticket);
            }
            other => self.state = other,
        }
    }
}

impl HttpBody for WatchedAnswer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let State::Complete(ticket) = self.state {
            // Only over HTTP/2 is it asked again.
            if self.content.is_some() && self.outgoing.is_written(ticket, cx.waker()) {
                return Poll::Pending;
            }
            self.state = State::Over;
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
        if let (Some(content), Some(data)) = (&mut self.content, data) {
            content.add(data);
        }
        // Before the connection gets it, which may write it at once.
        if frame.is_some() && self.body.is_end_stream() {
            self.complete();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match self.state {
            State::Begun(_) => self.body.is_end_stream(),
            State::Complete(_) => self.content.is_none(),
            State::Over => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for WatchedAnswer {
    fn drop(&mut self) {
        match &self.state {
            State::Begun(claims) => self.outgoing.give_up(claims, self.before),
            State::Complete(ticket) if self.content.is_some() => {
                self.outgoing.give_up_complete(*ticket);
            }
            State::Complete(_) | State::Over => {}
        }
    }
}
