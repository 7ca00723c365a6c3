//! The HTTP/2 answers of one connection that are not written completely. One that the client does not take is
//! given up: what it holds is freed, and its stream is reset when the client would take more of it. The
//! connection goes on, because a proxy may share it among clients.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::progress::Progress;

/// How often to look for answers that are not taken, as a fraction of the time that they have.
const LOOKS: u32 = 4;

/// The answers of a connection.
#[derive(Default)]
pub(super) struct OpenAnswers {
    next: Mutex<u64>,
    answers: Mutex<HashMap<u64, Arc<Mutex<Answer>>>>,
}

struct Answer {
    /// `None` once it was given up.
    content: Option<(Body, Unfinished)>,
    /// Since when the client could have taken more; `None` while there is nothing to be taken.
    untaken_since: Option<Instant>,
}

/// Counts an answer for its connection until it is written completely.
pub(super) struct Unfinished(Arc<Progress>);

impl Unfinished {
    pub fn new(progress: Arc<Progress>) -> Self {
        progress.begin_answer();
        Self(progress)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.end_answer();
    }
}

impl OpenAnswers {
    /// Registers an answer.
    pub fn add(self: &Arc<Self>, body: Body, unfinished: Unfinished) -> OpenAnswer {
        let answer =
            Answer { content: Some((body, unfinished)), untaken_since: Some(Instant::now()) };
        let answer = Arc::new(Mutex::new(answer));
        let mut next = lock(&self.next);
        *next += 1;
        lock(&self.answers).insert(*next, answer.clone());
        OpenAnswer { number: *next, answer, answers: self.clone() }
    }

    /// Gives up answers of which the client has taken nothing for this long. Never ends.
    pub async fn give_up_untaken(&self, longest: Duration) {
        loop {
            tokio::time::sleep(longest / LOOKS).await;
            let all: Vec<_> = lock(&self.answers).values().cloned().collect();
            for answer in all {
                let mut answer = lock(&answer);
                if answer.untaken_since.is_some_and(|since| since.elapsed() >= longest) {
                    tracing::debug!("an answer that the client does not take was given up");
                    (answer.content, answer.untaken_since) = (None, None);
                }
            }
        }
    }
}

/// The body of an answer, which ends with an error if it was given up.
pub(super) struct OpenAnswer {
    number: u64,
    answer: Arc<Mutex<Answer>>,
    answers: Arc<OpenAnswers>,
}

impl HttpBody for OpenAnswer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut answer = lock(&self.answer);
        let Some((body, _)) = &mut answer.content else {
            let error = std::io::Error::from(std::io::ErrorKind::TimedOut);
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        };
        let frame = Pin::new(&mut *body).poll_frame(cx);
        let has_length = body.size_hint().exact().is_some();
        // One of known length waits for nothing but its client.
        if frame.is_ready() {
            answer.untaken_since = Some(Instant::now());
        } else if !has_length {
            answer.untaken_since = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.answer).content.as_ref().is_some_and(|(body, _)| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let answer = lock(&self.answer);
        answer.content.as_ref().map_or_else(SizeHint::default, |(body, _)| body.size_hint())
    }
}

impl Drop for OpenAnswer {
    fn drop(&mut self) {
        lock(&self.answers.answers).remove(&self.number);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
