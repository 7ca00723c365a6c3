//! Bounds the memory of request bodies, from before they are read until their requests are answered.
//!
//! The length of a body is reserved before any of it is read, so that every body that was begun can be
//! completed. Who finds no room waits a while; those who wait take turns by tenant.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ahash::RandomState;
use axum::http::StatusCode;
use rota_model::{Cap, TenantId};
use tokio::sync::oneshot;

use super::error::ApiError;
use crate::runtime::Source;

/// How long a request waits for room for its body.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// The most requests of one caller that wait for room. The first bytes of their bodies may be in buffers
/// of their connections already.
const MAX_WAITING: usize = 100;

/// Counts the bytes of bodies. The last tenth of the total is for those who have none.
#[derive(Clone)]
pub(super) struct IncomingBodies {
    /// In bytes.
    cap: Cap,
    max_wait: Duration,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    bytes: usize,
    next_ticket: u64,
    owners: HashMap<Source, Owner, RandomState>,
    /// Those with waiting requests, in the order of their turns.
    turns: VecDeque<Source>,
}

#[derive(Default)]
struct Owner {
    bytes: usize,
    waiting: VecDeque<Waiter>,
}

struct Waiter {
    ticket: u64,
    bytes: usize,
    granted: oneshot::Sender<Reserved>,
}

/// Why there is no room for a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Short {
    /// The caller has as much as it may have.
    Own,
    /// All have.
    Total,
}

/// Room for a body, until this is dropped.
pub(super) struct Reserved {
    bodies: IncomingBodies,
    source: Source,
    bytes: usize,
}

impl IncomingBodies {
    pub fn new(cap: Cap) -> Self {
        Self { cap, max_wait: MAX_WAIT, state: Arc::default() }
    }

    /// Reserves room for a body of the caller; waits for it if there is none.
    pub async fn reserve(
        &self,
        caller: Option<&TenantId>,
        bytes: usize,
    ) -> Result<Reserved, ApiError> {
        let source = Source::of(caller);
        let Some((room, ticket)) = self.ask(&source, bytes) else {
            return Err(self.error(caller, &source, bytes));
        };
        let _waiting = Waiting { bodies: self, source: &source, ticket };
        match tokio::time::timeout(self.max_wait, room).await {
            Ok(Ok(reserved)) => Ok(reserved),
            _ => Err(self.error(caller, &source, bytes)),
        }
    }

    /// Asks for room, which is given at once if there is some; `None` if too many wait already.
    fn ask(&self, source: &Source, bytes: usize) -> Option<(oneshot::Receiver<Reserved>, u64)> {
        let (granted, room) = oneshot::channel();
        let mut state = self.state();
        state.next_ticket += 1;
        let ticket = state.next_ticket;
        let owner = state.owners.entry(source.clone()).or_default();
        if owner.waiting.len() >= MAX_WAITING {
            return None;
        }
        owner.waiting.push_back(Waiter { ticket, bytes, granted });
        if owner.waiting.len() == 1 {
            state.turns.push_back(source.clone());
        }
        self.grant(state);
        Some((room, ticket))
    }

    /// Gives room to those who wait, as far as there is some.
    fn grant(&self, mut state: MutexGuard<'_, State>) {
        let granted = state.grant(self.cap);
        drop(state);
        for (source, Waiter { bytes, granted, .. }) in granted {
            // If the request is gone, the room is free again with the value that comes back.
            let _ = granted.send(Reserved { bodies: self.clone(), source, bytes });
        }
    }

    fn error(&self, caller: Option<&TenantId>, source: &Source, bytes: usize) -> ApiError {
        let own = self.state().owners.get(source).map_or(0, |owner| owner.bytes);
        match caller {
            Some(tenant) if own + bytes > self.cap.per_tenant => {
                tenant_is_full(tenant, own, self.cap.per_tenant)
            }
            _ => ApiError::busy("The bodies of requests under way leave no room for this one.")
                .hint("Try again after the time in Retry-After; an operator can raise limits.incoming_bytes.")
                .retry_after(1),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes out the waiting requests for which there is room now. Who waits for its own bodies holds
    /// nobody up; while somebody waits for those of all, only those who have none overtake.
    fn grant(&mut self, cap: Cap) -> Vec<(Source, Waiter)> {
        let (mut granted, mut skipped) = (Vec::new(), VecDeque::new());
        let mut is_short = false;
        while let Some(source) = self.turns.pop_front() {
            let Some(owner) = self.owners.get_mut(&source) else { continue };
            let Some(next) = owner.waiting.front().map(|waiter| waiter.bytes) else { continue };
            let is_behind = is_short && owner.bytes > 0;
            match fits(cap, &source, (owner.bytes, self.bytes), next) {
                Ok(()) if !is_behind => {
                    owner.bytes += next;
                    self.bytes += next;
                    granted.extend(owner.waiting.pop_front().map(|one| (source.clone(), one)));
                    if !owner.waiting.is_empty() {
                        self.turns.push_back(source);
                    }
                }
                Err(Short::Own) => skipped.push_back(source),
                _ => {
                    is_short = true;
                    skipped.push_back(source);
                }
            }
        }
        self.turns = skipped;
        granted
    }

    fn release(&mut self, source: &Source, bytes: usize) {
        self.bytes -= bytes;
        if let Some(owner) = self.owners.get_mut(source) {
            owner.bytes -= bytes;
        }
        self.forget_idle(source);
    }

    fn forget_idle(&mut self, source: &Source) {
        let is_idle = |owner: &Owner| owner.bytes == 0 && owner.waiting.is_empty();
        if self.owners.get(source).is_some_and(is_idle) {
            self.owners.remove(source);
        }
    }
}

/// Whether there is room for a body. A single one fits whatever its size, so that no cap is too small for
/// what `limits.body_bytes` allows.
fn fits(cap: Cap, source: &Source, (own, all): (usize, usize), bytes: usize) -> Result<(), Short> {
    let is_tenant = matches!(source, Source::Tenant(_));
    if is_tenant && own > 0 && own + bytes > cap.per_tenant {
        return Err(Short::Own);
    }
    let open = if own == 0 { cap.total } else { cap.total - cap.total / 10 };
    if all > 0 && all + bytes > open { Err(Short::Total) } else { Ok(()) }
}

impl Reserved {
    /// Gives back what a body of unknown length did not need.
    pub fn shrink_to(&mut self, bytes: usize) {
        let unused = self.bytes.saturating_sub(bytes);
        if unused == 0 {
            return;
        }
        self.bytes -= unused;
        let mut state = self.bodies.state();
        state.bytes -= unused;
        if let Some(owner) = state.owners.get_mut(&self.source) {
            owner.bytes -= unused;
        }
        self.bodies.grant(state);
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut state = self.bodies.state();
        state.release(&self.source, self.bytes);
        self.bodies.grant(state);
    }
}

/// A request that waits for room, until this is dropped.
struct Waiting<'a> {
    bodies: &'a IncomingBodies,
    source: &'a Source,
    ticket: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.bodies.state();
        let Some(owner) = state.owners.get_mut(self.source) else { return };
        let before = owner.waiting.len();
        owner.waiting.retain(|waiter| waiter.ticket != self.ticket);
        if owner.waiting.len() == before {
            return;
        }
        if owner.waiting.is_empty() {
            state.turns.retain(|source| source != self.source);
        }
        state.forget_idle(self.source);
        // It may have been the one that others had to wait behind.
        self.bodies.grant(state);
    }
}

fn tenant_is_full(tenant: &TenantId, own: usize, most: usize) -> ApiError {
    let text = format!(
        "Tenant '{tenant}' has requests with {own} bytes under way, and {most} is the most for a tenant."
    );
    ApiError::new(StatusCode::TOO_MANY_REQUESTS, "TENANT_LIMIT_EXCEEDED", text)
        .hint(
            "Wait for earlier requests to be answered; an operator can raise limits.incoming_bytes_per_tenant.",
        )
        .member("tenant_id", tenant.to_string())
        .member("limit", "incoming_bytes_per_tenant")
        .member("current", own)
        .member("maximum", most)
        .retry_after(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId::parse(name).unwrap()
    }

    fn source(name: &str) -> Source {
        Source::Tenant(tenant(name))
    }

    fn bodies() -> IncomingBodies {
        IncomingBodies::new(Cap { total: 1_000, per_tenant: 400 })
    }

    /// As many bodies of this size as there is room for now.
    fn fill(bodies: &IncomingBodies, source: &Source, bytes: usize) -> Vec<Reserved> {
        let next = || {
            let (mut room, ticket) = bodies.ask(source, bytes)?;
            let _waiting = Waiting { bodies, source, ticket };
            room.try_recv().ok()
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_tenant_at_its_cap_leaves_room_for_others() {
        let bodies = bodies();
        let flood = fill(&bodies, &source("a"), 100);
        assert_eq!(flood.len(), 4);
        let second = fill(&bodies, &source("b"), 100);
        assert_eq!(second.len(), 4);
        let operators = fill(&bodies, &Source::Operators, 50);
        assert_eq!(operators.len(), 2, "all but a tenth");
        let first = fill(&bodies, &source("c"), 90);
        assert_eq!(first.len(), 1, "the tenth is for those who have none");
        assert!(fill(&bodies, &source("d"), 90).is_empty());
        drop((flood, second, operators, first));
        let state = bodies.state();
        assert_eq!((state.bytes, state.owners.len(), state.turns.len()), (0, 0, 0));
    }

    #[test]
    fn a_single_body_fits_whatever_its_size() {
        let bodies = bodies();
        let large = fill(&bodies, &source("a"), 5_000);
        assert_eq!(large.len(), 1);
        assert!(fill(&bodies, &source("b"), 1).is_empty());
        drop(large);
        assert_eq!(fill(&bodies, &source("b"), 401).len(), 1);
    }

    #[test]
    fn those_who_wait_take_turns_by_tenant() {
        let bodies = bodies();
        let operators = fill(&bodies, &Source::Operators, 90);
        assert_eq!(operators.len(), 10);
        let names = ["a", "a", "a", "b", "c"];
        let mut waiting: Vec<_> =
            names.iter().map(|name| bodies.ask(&source(name), 110).unwrap().0).collect();
        let mut served = Vec::new();
        let mut rooms = Vec::new();
        for held in operators {
            drop(held);
            for (name, room) in names.iter().zip(&mut waiting) {
                if let Ok(room) = room.try_recv() {
                    served.push(*name);
                    rooms.push(room);
                }
            }
        }
        assert_eq!(served, ["a", "b", "c", "a", "a"]);
    }

    #[test]
    fn a_large_body_is_not_overtaken_for_ever() {
        let bodies = bodies();
        let mut small = fill(&bodies, &Source::Operators, 90);
        let own = fill(&bodies, &source("a"), 50);
        assert_eq!(own.len(), 1);
        let (mut large, _) = bodies.ask(&source("a"), 300).unwrap();
        for _ in 0..3 {
            assert!(large.try_recv().is_err());
            small.pop();
            assert!(fill(&bodies, &Source::Operators, 90).is_empty(), "they wait behind it");
        }
        small.pop();
        assert!(large.try_recv().is_ok());
    }

    #[test]
    fn what_a_body_did_not_need_is_free_at_once() {
        let bodies = bodies();
        let mut unknown = fill(&bodies, &source("a"), 400).pop().unwrap();
        let (mut next, _) = bodies.ask(&source("a"), 390).unwrap();
        assert!(next.try_recv().is_err());
        unknown.shrink_to(10);
        assert!(next.try_recv().is_ok());
    }

    #[test]
    fn waiting_requests_are_bounded_and_leave_nothing_behind() {
        let bodies = bodies();
        let held = fill(&bodies, &source("a"), 400);
        let waiting: Vec<_> =
            std::iter::from_fn(|| bodies.ask(&source("a"), 1).map(|(room, _)| room)).collect();
        assert_eq!(waiting.len(), MAX_WAITING);
        drop(waiting);
        // Clients that are gone do not use up what is freed.
        drop(held);
        assert_eq!(bodies.state().bytes, 0);
        assert!(bodies.state().owners.is_empty());
    }

    #[tokio::test]
    async fn who_waits_too_long_is_told_why() {
        let bodies = IncomingBodies { max_wait: Duration::ZERO, ..bodies() };
        let _held = fill(&bodies, &source("a"), 400);
        let error = bodies.reserve(Some(&tenant("a")), 100).await.err().unwrap();
        assert_eq!(error.status(), StatusCode::TOO_MANY_REQUESTS);
        let _rest = (fill(&bodies, &source("b"), 400), fill(&bodies, &source("c"), 200));
        let error = bodies.reserve(Some(&tenant("d")), 100).await.err().unwrap();
        assert_eq!(error.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(bodies.state().turns.is_empty());
        assert!(!bodies.state().owners.contains_key(&source("d")));
    }
}
