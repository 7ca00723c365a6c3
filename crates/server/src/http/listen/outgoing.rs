//! Which answers with claims the kernel has taken.
//!
//! Over HTTP/1.1 answers are written one after another, so a flush takes all of the last one. Over HTTP/2 a flush
//! may leave data behind that the client's window has no room for. There an answer is taken when its stream has
//! got all of its content; until then its body does not end, so that the connection tells it of a reset.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use axum::body::Body;
use axum::http::Response;

use super::frames::Digest;
use super::watched_answer::WatchedAnswer;
use crate::http::claims_in_answer::ClaimsInAnswer;

/// What one connection writes.
#[derive(Default)]
pub(super) struct Outgoing {
    /// Bytes that were written so far.
    written: AtomicU64,
    /// Answers with claims of which the rest is still to be written.
    watched: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last_ticket: u64,
    /// The connection has ended.
    closed: bool,
    complete: Vec<Complete>,
}

/// An answer that was handed over completely, of which the kernel has not taken everything.
struct Complete {
    ticket: u64,
    claims: ClaimsInAnswer,
    /// Bytes that were written before it.
    before: u64,
    /// What its stream has when all of it was taken, for HTTP/2.
    digest: Option<Digest>,
    /// Wakes its body.
    waker: Option<Waker>,
}

impl Outgoing {
    pub fn note_written(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Relaxed);
    }

    /// The number of bytes that were written so far.
    pub fn written(&self) -> u64 {
        self.written.load(Relaxed)
    }

    /// Whether there are answers that are to be watched.
    pub fn is_watched(&self) -> bool {
        self.watched.load(Relaxed) > 0
    }

    /// Watches an answer from now on, if it has claims. `by_content` for HTTP/2.
    pub fn watch_claims(
        self: Arc<Self>,
        mut response: Response<Body>,
        by_content: bool,
    ) -> Response<Body> {
        let Some(claims) = response.extensions_mut().remove::<ClaimsInAnswer>() else {
            return response;
        };
        self.watched.fetch_add(1, Relaxed);
        response.map(|body| Body::new(WatchedAnswer::new(body, claims, self, by_content)))
    }

    /// An answer was handed over completely. Returns a ticket for it.
    pub fn complete(&self, claims: ClaimsInAnswer, before: u64, digest: Option<Digest>) -> u64 {
        let mut state = self.state();
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        if state.closed {
            drop(state);
            self.end(|| claims.not_written(self.written() > before));
        } else {
            state.complete.push(Complete { ticket, claims, before, digest, waker: None });
        }
        ticket
    }

    /// Whether the answer with this ticket is still being written; then the waker is woken when that ends.
    pub fn is_written(&self, ticket: u64, waker: &Waker) -> bool {
        let mut state = self.state();
        let found = state.complete.iter_mut().find(|complete| complete.ticket == ticket);
        if let Some(complete) = found {
            complete.waker = Some(waker.clone());
            return true;
        }
        false
    }

    /// The rest of an answer will not be written.
    pub fn give_up(&self, claims: &ClaimsInAnswer, before: u64) {
        self.end(|| claims.not_written(self.written() > before));
    }

    /// The same for one that was handed over completely, unless it was written before.
    pub fn give_up_complete(&self, ticket: u64) {
        self.remove(|complete| complete.ticket == ticket, false);
    }

    /// The kernel has taken everything that was handed over.
    pub fn flushed(&self) {
        self.remove(|complete| complete.digest.is_none(), true);
    }

    /// The kernel has taken content of these streams.
    pub fn taken(&self, contents: &[Digest]) {
        let is_taken = |digest: &Digest| contents.contains(digest);
        self.remove(|complete| complete.digest.as_ref().is_some_and(is_taken), true);
    }

    /// The connection has ended.
    pub fn close(&self) {
        self.state().closed = true;
        self.remove(|_| true, false);
    }

    fn remove(&self, is_over: impl Fn(&Complete) -> bool, is_taken: bool) {
        if !self.is_watched() {
            return;
        }
        let over: Vec<Complete> =
            self.state().complete.extract_if(.., |complete| is_over(complete)).collect();
        for Complete { claims, before, waker, .. } in over {
            self.end(|| match is_taken {
                true => claims.written(),
                false => claims.not_written(self.written() > before),
            });
            waker.into_iter().for_each(Waker::wake);
        }
    }

    fn end(&self, end: impl FnOnce()) {
        self.watched.fetch_sub(1, Relaxed);
        end();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
