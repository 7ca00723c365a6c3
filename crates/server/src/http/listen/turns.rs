//! Turns of connections: a tenant whose connections keep the server busy leaves the others their place.
//!
//! The runtime polls ready connections in order, however many of them are one tenant's. So while several
//! tenants are served, all but one of the runtime's threads may work for the same one: its further
//! connections wait in a line of their own, and each that ends its turn lets the next one in. Until the
//! first request says whom a connection serves, it counts for the address that it comes from.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use ahash::RandomState;

use super::address::AddressGroup;
use crate::runtime::Source;

/// For how long after two callers have taken turns, both count as being served.
const SHARED_TIME: Duration = Duration::from_millis(200);

/// The lines of all sources with connections.
pub(super) struct Turns {
    /// Threads of the runtime.
    threads: usize,
    origin: Instant,
    lines: Mutex<HashMap<Owner, Weak<Line>, RandomState>>,
    next_line: AtomicU64,
    /// The line of a caller that had the last turn.
    last_line: AtomicU64,
    /// When turns last went from one caller to another, in milliseconds since `origin`.
    switched: AtomicU64,
}

/// Whose turn it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Owner {
    /// Connections from there that have not had a request yet.
    Address(AddressGroup),
    Caller(Source),
}

/// The connections of one owner.
struct Line {
    number: u64,
    owner: Owner,
    turns: Arc<Turns>,
    state: Mutex<LineState>,
}

#[derive(Default)]
struct LineState {
    /// Connections that have a turn.
    polled: usize,
    next_ticket: u64,
    /// In the order of their arrival.
    waiting: BTreeMap<u64, Waker>,
    /// Those that were let in and have not noticed yet. They have a turn.
    let_in: BTreeSet<u64>,
}

/// The line that a connection waits in.
pub(super) struct Seat {
    line: Mutex<Arc<Line>>,
}

/// A connection that is polled in its turn.
pub(super) struct InTurn<F> {
    connection: Pin<Box<F>>,
    seat: Arc<Seat>,
    place: Option<Place>,
}

/// A place in a line, which is given up when this is dropped.
struct Place {
    line: Arc<Line>,
    ticket: u64,
}

/// The right to be polled now; the next one is let in when this is dropped.
struct Turn(Arc<Line>);

impl Turns {
    pub fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self {
            threads,
            origin: Instant::now(),
            lines: Mutex::default(),
            next_line: AtomicU64::new(1),
            last_line: AtomicU64::new(0),
            switched: AtomicU64::new(0),
        })
    }

    /// The seat of a new connection from this address.
    pub fn seat(self: &Arc<Self>, address: IpAddr) -> Arc<Seat> {
        let line = self.line(Owner::Address(AddressGroup::of(address)));
        Arc::new(Seat { line: Mutex::new(line) })
    }

    fn line(self: &Arc<Self>, owner: Owner) -> Arc<Line> {
        let mut lines = lock(&self.lines);
        if let Some(line) = lines.get(&owner).and_then(Weak::upgrade) {
            return line;
        }
        let line = Arc::new(Line {
            number: self.next_line.fetch_add(1, Ordering::Relaxed),
            owner: owner.clone(),
            turns: self.clone(),
            state: Mutex::default(),
        });
        lines.insert(owner, Arc::downgrade(&line));
        line
    }

    /// How many connections of a line may be polled at the same time.
    fn most(&self) -> usize {
        let switched = Duration::from_millis(self.switched.load(Ordering::Relaxed));
        let is_shared = !switched.is_zero() && self.origin.elapsed() < switched + SHARED_TIME;
        if is_shared { (self.threads - 1).max(1) } else { self.threads }
    }

    fn note_turn(&self, line: u64) {
        let last = self.last_line.load(Ordering::Relaxed);
        if last == line {
            return;
        }
        self.last_line.store(line, Ordering::Relaxed);
        if last != 0 {
            let now = (self.origin.elapsed().as_millis() as u64).max(1);
            self.switched.store(now, Ordering::Relaxed);
        }
    }
}

impl Line {
    /// Takes a turn, or else a place in the line.
    fn begin(self: &Arc<Self>, waker: &Waker) -> Result<Turn, Place> {
        // A connection of whom nothing is known is probably that of a caller who is known already.
        if matches!(self.owner, Owner::Caller(_)) {
            self.turns.note_turn(self.number);
        }
        let most = self.turns.most();
        let mut state = lock(&self.state);
        if state.polled < most && state.waiting.is_empty() {
            state.polled += 1;
            return Ok(Turn(self.clone()));
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.insert(ticket, waker.clone());
        Err(Place { line: self.clone(), ticket })
    }

    fn end(&self) {
        let most = self.turns.most();
        let mut state = lock(&self.state);
        state.polled -= 1;
        let mut next = Vec::new();
        while state.polled < most
            && let Some((ticket, waker)) = state.waiting.pop_first()
        {
            state.polled += 1;
            state.let_in.insert(ticket);
            next.push(waker);
        }
        drop(state);
        next.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let mut lines = lock(&self.turns.lines);
        // There may be a new line of the same owner already.
        if lines.get(&self.owner).is_some_and(|line| line.strong_count() == 0) {
            lines.remove(&self.owner);
        }
    }
}

impl Place {
    /// Whether it has been let in; otherwise `waker` is woken when it is.
    fn is_let_in(&self, waker: &Waker) -> bool {
        let mut state = lock(&self.line.state);
        if state.let_in.remove(&self.ticket) {
            return true;
        }
        if let Some(own) = state.waiting.get_mut(&self.ticket) {
            own.clone_from(waker);
        }
        false
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = lock(&self.line.state);
        state.waiting.remove(&self.ticket);
        let has_turn = state.let_in.remove(&self.ticket);
        drop(state);
        if has_turn {
            self.line.end();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Seat {
    /// From now on, the connection serves this source.
    pub fn set_source(&self, source: &Source) {
        let mut line = lock(&self.line);
        if !matches!(&line.owner, Owner::Caller(own) if own == source) {
            let new = line.turns.line(Owner::Caller(source.clone()));
            let old = std::mem::replace(&mut *line, new);
            drop(line);
            drop(old);
        }
    }

    fn line(&self) -> Arc<Line> {
        lock(&self.line).clone()
    }
}

impl<F> InTurn<F> {
    pub fn new(connection: F, seat: Arc<Seat>) -> Self {
        Self { connection: Box::pin(connection), seat, place: None }
    }

    /// `None` if it has to wait.
    fn take_turn(&mut self, waker: &Waker) -> Option<Turn> {
        if let Some(place) = &self.place {
            if !place.is_let_in(waker) {
                return None;
            }
            let turn = Turn(place.line.clone());
            self.place = None;
            return Some(turn);
        }
        match self.seat.line().begin(waker) {
            Ok(turn) => Some(turn),
            Err(place) => {
                self.place = Some(place);
                None
            }
        }
    }
}

impl<F: Future> Future for InTurn<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Some(_turn) = self.take_turn(cx.waker()) else { return Poll::Pending };
        self.connection.as_mut().poll(cx)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use rota_model::TenantId;

    use super::*;

    fn tenant(name: &str) -> Source {
        Source::Tenant(TenantId::parse(name).unwrap())
    }

    fn seat(turns: &Arc<Turns>, source: &Source) -> Arc<Seat> {
        let seat = turns.seat(IpAddr::from([127, 0, 0, 1]));
        seat.set_source(source);
        seat
    }

    /// Takes a turn, as a connection does that is polled.
    fn begin(turns: &Arc<Turns>, name: &str) -> Result<Turn, Place> {
        turns.line(Owner::Caller(tenant(name))).begin(Waker::noop())
    }

    fn waiting(turns: &Arc<Turns>, name: &str) -> usize {
        lock(&turns.line(Owner::Caller(tenant(name))).state).waiting.len()
    }

    #[test]
    fn alone_a_tenant_may_use_all_threads() {
        let turns = Turns::new(2);
        let held = [begin(&turns, "a").ok(), begin(&turns, "a").ok()];
        assert!(held.iter().all(Option::is_some));
    }

    #[test]
    fn beside_others_a_tenant_leaves_them_one_thread() {
        let turns = Turns::new(2);
        let _seats = ["a", "b"].map(|name| seat(&turns, &tenant(name)));
        drop(begin(&turns, "b"));
        let first = begin(&turns, "a").ok().expect("the line is empty");
        let second = begin(&turns, "a").err().expect("it waits");
        let third = begin(&turns, "a").err().expect("it waits");
        assert!(begin(&turns, "b").is_ok(), "the others are let in");
        assert!(!second.is_let_in(Waker::noop()));
        drop(first);
        assert!(!third.is_let_in(Waker::noop()), "they are let in by order");
        assert!(second.is_let_in(Waker::noop()));
        assert_eq!(waiting(&turns, "a"), 1);
    }

    #[test]
    fn a_connection_that_ends_in_the_line_holds_up_nobody() {
        let turns = Turns::new(2);
        let _seats = ["a", "b"].map(|name| seat(&turns, &tenant(name)));
        drop(begin(&turns, "b"));
        let first = begin(&turns, "a").ok().expect("the line is empty");
        let [second, third, fourth] = [(); 3].map(|()| begin(&turns, "a").err().expect("it waits"));
        drop(third);
        drop(first);
        // It was let in and ends before it notices.
        drop(second);
        assert!(fourth.is_let_in(Waker::noop()));
        assert_eq!(waiting(&turns, "a"), 0);
    }

    #[test]
    fn lines_without_connections_are_forgotten() {
        let turns = Turns::new(2);
        let seats = ["a", "b"].map(|name| seat(&turns, &tenant(name)));
        assert_eq!(lock(&turns.lines).len(), 2);
        seats[0].set_source(&tenant("b"));
        assert_eq!(lock(&turns.lines).len(), 1);
        drop(seats);
        assert_eq!(lock(&turns.lines).len(), 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn all_connections_of_all_tenants_get_their_turns() {
        let turns = Turns::new(2);
        let tasks: Vec<_> = (0..200)
            .map(|n| {
                let seat = seat(&turns, &tenant(["a", "b"][usize::from(n % 50 == 0)]));
                let mut left = 50;
                let connection = poll_fn(move |cx| {
                    if left == 0 {
                        return Poll::Ready(());
                    }
                    left -= 1;
                    cx.waker().wake_by_ref();
                    Poll::Pending
                });
                tokio::spawn(InTurn::new(connection, seat))
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(lock(&turns.lines).len(), 0);
    }
}
