//! Bounds the memory of answers that clients do not read.
//!
//! A large answer is handed to the connection in slices and is counted for its caller until the last slice
//! was taken. If the answers of one caller, or of all, have too many bytes, the connection that has had
//! its answer for longest is closed; of all callers, that of the one with the most bytes.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use ahash::RandomState;
use axum::body::{Body, HttpBody};
use axum::http::Response;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use rota_model::{Cap, TenantId};

use super::listen::Cut;
use crate::runtime::Source;

/// Shorter answers fit into the buffers that every connection has anyway.
const LARGE: u64 = 128 << 10;
/// What the connection gets at a time.
const SLICE: usize = 64 << 10;

/// The large answers that are being written.
#[derive(Clone)]
pub(super) struct UnreadAnswers {
    /// In bytes.
    cap: Cap,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    next_ticket: u64,
    bytes: usize,
    owners: HashMap<Source, Owner, RandomState>,
}

#[derive(Default)]
struct Owner {
    bytes: usize,
    /// The oldest first.
    answers: BTreeMap<u64, Unread>,
}

struct Unread {
    bytes: usize,
    /// Closes the connection; `None` for a request that was made in this process.
    cut: Option<Cut>,
}

impl UnreadAnswers {
    pub fn new(cap: Cap) -> Self {
        Self { cap, state: Arc::default() }
    }

    /// Counts the answer to the current request, if it is large.
    pub fn watch(&self, caller: Option<&TenantId>, response: Response<Body>) -> Response<Body> {
        match response.body().size_hint().exact() {
            Some(length) if length > LARGE => {
                let held = self.hold(Source::of(caller), length as usize, Cut::of_this_request());
                let slice = |body| {
                    Body::new(SlicedBody { body, rest: Bytes::new(), left: length, _held: held })
                };
                response.map(slice)
            }
            _ => response,
        }
    }

    fn hold(&self, source: Source, bytes: usize, cut: Option<Cut>) -> Held {
        let mut state = self.state();
        state.next_ticket += 1;
        let ticket = state.next_ticket;
        state.bytes += bytes;
        let owner = state.owners.entry(source.clone()).or_default();
        owner.bytes += bytes;
        owner.answers.insert(ticket, Unread { bytes, cut });
        state.make_room(&source, self.cap);
        drop(state);
        Held { answers: self.clone(), source, ticket }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Closes connections until the answers fit. The newest answer of a caller is always let through.
    fn make_room(&mut self, source: &Source, cap: Cap) {
        let is_over = |owner: &Owner| owner.bytes > cap.per_tenant && owner.answers.len() > 1;
        while self.owners.get(source).is_some_and(is_over) {
            self.cut_oldest(source);
        }
        while self.bytes > cap.total {
            let several = self.owners.iter().filter(|(_, owner)| owner.answers.len() > 1);
            let largest = several.max_by_key(|(_, owner)| owner.bytes);
            let Some(largest) = largest.map(|(source, _)| source.clone()) else { return };
            self.cut_oldest(&largest);
        }
    }

    fn cut_oldest(&mut self, source: &Source) {
        let Some(owner) = self.owners.get(source) else { return };
        let Some(&ticket) = owner.answers.keys().next() else { return };
        if let Some(unread) = self.remove(source, ticket) {
            tracing::debug!(?source, "an unread answer was given up for newer ones");
            if let Some(cut) = unread.cut {
                cut.now();
            }
        }
    }

    fn remove(&mut self, source: &Source, ticket: u64) -> Option<Unread> {
        let owner = self.owners.get_mut(source)?;
        let unread = owner.answers.remove(&ticket)?;
        owner.bytes -= unread.bytes;
        self.bytes -= unread.bytes;
        if owner.answers.is_empty() {
            self.owners.remove(source);
        }
        Some(unread)
    }
}

/// A large answer that is being written, until this is dropped.
struct Held {
    answers: UnreadAnswers,
    source: Source,
    ticket: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.answers.state().remove(&self.source, self.ticket);
    }
}

/// A body that gives out its bytes in slices, so that it lives until the client has nearly read it.
struct SlicedBody {
    body: Body,
    rest: Bytes,
    left: u64,
    _held: Held,
}

impl HttpBody for SlicedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match std::task::ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                other => return Poll::Ready(other),
            }
        }
        let length = self.rest.len().min(SLICE);
        let slice = self.rest.split_to(length);
        self.left = self.left.saturating_sub(length as u64);
        Poll::Ready(Some(Ok(Frame::data(slice))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    fn answers() -> UnreadAnswers {
        UnreadAnswers::new(Cap { total: 1_000, per_tenant: 400 })
    }

    fn tenant(name: &str) -> Source {
        Source::Tenant(TenantId::parse(name).unwrap())
    }

    #[test]
    fn the_oldest_answers_of_a_caller_are_given_up_for_newer_ones() {
        let answers = answers();
        let flood: Vec<Held> = (0..100).map(|_| answers.hold(tenant("a"), 100, None)).collect();
        let kept = |source: &Source| -> Vec<u64> {
            let state = answers.state();
            state.owners.get(source).map_or(Vec::new(), |own| own.answers.keys().copied().collect())
        };
        assert_eq!(kept(&tenant("a")), [97, 98, 99, 100]);
        let other = answers.hold(tenant("b"), 400, None);
        assert_eq!(kept(&tenant("a")).len(), 4, "others are not touched");
        let operator = answers.hold(Source::Operators, 300, None);
        assert_eq!(kept(&tenant("a")).len(), 3, "the one with the most makes room");
        assert_eq!(answers.state().bytes, 1_000);
        drop((flood, other, operator));
        assert!(answers.state().owners.is_empty());
        assert_eq!(answers.state().bytes, 0);
    }

    #[test]
    fn a_single_answer_is_let_through_whatever_its_size() {
        let answers = answers();
        let _held = answers.hold(tenant("a"), 5_000, None);
        assert_eq!(answers.state().bytes, 5_000);
    }

    #[tokio::test]
    async fn a_large_answer_is_given_out_in_slices_and_counted_until_the_last() {
        let answers = UnreadAnswers::new(Cap { total: 1 << 30, per_tenant: 1 << 30 });
        let short = answers.watch(None, Response::new(Body::from(vec![0; 1_000])));
        assert!(answers.state().owners.is_empty(), "a short one is not counted");
        assert_eq!(short.body().size_hint().exact(), Some(1_000));
        let length = LARGE as usize + SLICE + 1;
        let mut body = answers.watch(None, Response::new(Body::from(vec![7; length]))).into_body();
        assert_eq!(body.size_hint().exact(), Some(length as u64));
        let mut slices = Vec::new();
        while let Some(frame) = body.frame().await {
            assert_eq!(answers.state().bytes, length);
            slices.push(frame.unwrap().into_data().unwrap().len());
        }
        assert_eq!(slices, [SLICE, SLICE, SLICE, 1]);
        assert!(body.is_end_stream());
        drop(body);
        assert_eq!(answers.state().bytes, 0);
    }
}
