//! The body of an answer that goes on.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep};

use super::super::listen::client_closed;

/// A comment that says nothing.
const PROBE: &[u8] = b":\n\n";
/// The answer to the first probe tells whether anybody is there, and the second one meets it.
const PROBES: u32 = 2;
const BETWEEN_PROBES: Duration = Duration::from_millis(500);

/// Passes frames on, until there are no more or the client is gone. A client that has closed its side of
/// the connection may still read; if it does not, writing to it fails, so it is probed.
pub(super) struct Feed {
    frames: mpsc::Receiver<Bytes>,
    closed: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    probes_left: u32,
    next_probe: Pin<Box<Sleep>>,
}

impl Feed {
    /// For the client of the current request.
    pub fn new(frames: mpsc::Receiver<Bytes>) -> Self {
        let next_probe = Box::pin(sleep(Duration::ZERO));
        Self { frames, closed: Some(Box::pin(client_closed())), probes_left: 0, next_probe }
    }

    /// A probe, if it is time for one.
    fn poll_probe(&mut self, context: &mut Context<'_>) -> Poll<Bytes> {
        if let Some(closed) = &mut self.closed {
            if closed.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            (self.closed, self.probes_left) = (None, PROBES);
        }
        if self.probes_left == 0 || self.next_probe.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.probes_left -= 1;
        self.next_probe.as_mut().reset(Instant::now() + BETWEEN_PROBES);
        Poll::Ready(Bytes::from_static(PROBE))
    }
}

impl Body for Feed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = match self.frames.poll_recv(context) {
            Poll::Ready(frame) => frame,
            Poll::Pending => match self.poll_probe(context) {
                Poll::Ready(probe) => Some(probe),
                Poll::Pending => return Poll::Pending,
            },
        };
        Poll::Ready(frame.map(|frame| Ok(Frame::data(frame))))
    }
}
