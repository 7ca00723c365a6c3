//! The body of a streaming response.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc;

use super::super::listen::client_closed;

/// Passes frames on, until there are no more or the client has closed its side of the connection.
pub(super) struct Feed {
    frames: mpsc::Receiver<Bytes>,
    closed: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Feed {
    /// For the client of the current request.
    pub fn new(frames: mpsc::Receiver<Bytes>) -> Self {
        Self { frames, closed: Box::pin(client_closed()) }
    }
}

impl Body for Feed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.frames.poll_recv(context) {
            Poll::Ready(frame) => Poll::Ready(frame.map(|frame| Ok(Frame::data(frame)))),
            Poll::Pending => self.closed.as_mut().poll(context).map(|()| None),
        }
    }
}
