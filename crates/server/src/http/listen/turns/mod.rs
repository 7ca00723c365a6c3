//! Turns of connections: a tenant whose connections keep the server busy leaves the others their place.
//!
//! The runtime polls ready connections in order, however many of them are one tenant's. So while several
//! tenants are served, all but one of the runtime's threads may work for the same one: its further
//! connections wait in a line of their own, and each that ends its turn lets the next one in. Who takes up
//! most of the time is served by threads of low priority ([`tiers`]), which the system interrupts for the
//! others. Until the first request says whom a connection serves, it counts for the address that it comes
//! from.

mod line;
mod tiers;
mod use_of_time;

pub(super) use tiers::Tiers;

use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use ahash::RandomState;

use line::{Line, Place, Turn};
use tiers::Tier;
use use_of_time::UseOfTime;

use super::address::AddressGroup;
use crate::runtime::Source;

/// For how long after two callers have taken turns, both count as being served.
const SHARED_TIME: Duration = Duration::from_millis(200);
/// For how long after that nobody is served in front who takes up most of the time. Longer, because those
/// who ask now and then would otherwise find it there each time.
const LONG_SHARED_TIME: Duration = Duration::from_secs(10);

/// The lines of all sources with connections.
pub(super) struct Turns {
    tiers: Tiers,
    origin: Instant,
    lines: Mutex<HashMap<Owner, Weak<Line>, RandomState>>,
    next_line: AtomicU64,
    /// The line of a caller that had the last turn.
    last_line: AtomicU64,
    /// When turns last went from one caller to another, in milliseconds since `origin`.
    switched: AtomicU64,
    /// By all callers.
    used: UseOfTime,
}

/// Whose turn it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Owner {
    /// Connections from there that have not had a request yet.
    Address(AddressGroup),
    Caller(Source),
}

/// The line that a connection waits in.
pub(super) struct Seat {
    line: Mutex<Arc<Line>>,
    /// The connection is being polled in the background.
    in_background: AtomicBool,
}

/// A connection that is polled in its turn.
pub(super) struct InTurn<F> {
    /// `None` once it has moved to the other tier.
    connection: Option<Pin<Box<F>>>,
    seat: Arc<Seat>,
    place: Option<Place>,
    tier: Tier,
}

impl Turns {
    pub fn new(tiers: Tiers) -> Arc<Self> {
        Arc::new(Self {
            tiers,
            origin: Instant::now(),
            lines: Mutex::default(),
            next_line: AtomicU64::new(1),
            last_line: AtomicU64::new(0),
            switched: AtomicU64::new(0),
            used: UseOfTime::default(),
        })
    }

    /// The seat of a new connection from this address.
    pub fn seat(self: &Arc<Self>, address: IpAddr) -> Arc<Seat> {
        let line = self.line(Owner::Address(AddressGroup::of(address)));
        Arc::new(Seat { line: Mutex::new(line), in_background: AtomicBool::new(false) })
    }

    fn line(self: &Arc<Self>, owner: Owner) -> Arc<Line> {
        let mut lines = lock(&self.lines);
        if let Some(line) = lines.get(&owner).and_then(Weak::upgrade) {
            return line;
        }
        let number = self.next_line.fetch_add(1, Ordering::Relaxed);
        let line = Arc::new(Line::new(number, owner.clone(), self.clone()));
        lines.insert(owner, Arc::downgrade(&line));
        line
    }

    /// How many connections of a line may be polled at the same time.
    fn most(&self) -> usize {
        let threads = self.tiers.threads();
        if self.has_switched_within(SHARED_TIME) { (threads - 1).max(1) } else { threads }
    }

    fn has_served_several(&self) -> bool {
        self.has_switched_within(LONG_SHARED_TIME)
    }

    /// Whether turns have gone from one caller to another within this time.
    fn has_switched_within(&self, time: Duration) -> bool {
        let switched = self.switched.load(Ordering::Relaxed);
        switched > 0 && self.now_ms() < switched + time.as_millis() as u64
    }

    fn now_ms(&self) -> u64 {
        self.origin.elapsed().as_millis() as u64
    }

    fn note_turn(&self, line: u64) {
        let last = self.last_line.load(Ordering::Relaxed);
        if last == line {
            return;
        }
        self.last_line.store(line, Ordering::Relaxed);
        if last != 0 {
            self.switched.store(self.now_ms().max(1), Ordering::Relaxed);
        }
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

    /// Whether the connection moves to the other tier as soon as it is polled again.
    pub fn is_to_move(&self) -> bool {
        let in_background = self.line().tier() == Tier::Background;
        in_background != self.in_background.load(Ordering::Relaxed)
    }

    fn line(&self) -> Arc<Line> {
        lock(&self.line).clone()
    }
}

impl<F: Future<Output = ()> + Send + 'static> InTurn<F> {
    /// Serves a connection until it ends.
    pub fn spawn(connection: F, seat: Arc<Seat>) {
        Self::spawn_in(Tier::Front, Box::pin(connection), seat);
    }

    fn spawn_in(tier: Tier, connection: Pin<Box<F>>, seat: Arc<Seat>) {
        let tiers = seat.line().turns.tiers.clone();
        seat.in_background.store(tier == Tier::Background, Ordering::Relaxed);
        tiers.spawn(tier, Self { connection: Some(connection), seat, place: None, tier });
    }

    /// `None` if it has to wait.
    fn take_turn(&mut self, line: &Arc<Line>, waker: &Waker) -> Option<Turn> {
        if let Some(place) = self.place.take_if(|place| place.is_let_in(waker)) {
            return Some(place.into_turn());
        }
        if self.place.is_some() {
            return None;
        }
        match line.begin(waker) {
            Ok(turn) => Some(turn),
            Err(place) => {
                self.place = Some(place);
                None
            }
        }
    }
}

impl<F: Future<Output = ()> + Send + 'static> Future for InTurn<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let line = self.seat.line();
        let tier = line.tier();
        if tier != self.tier {
            // Whoever had the next turn gets it when the place is dropped.
            self.place = None;
            if let Some(connection) = self.connection.take() {
                Self::spawn_in(tier, connection, self.seat.clone());
            }
            return Poll::Ready(());
        }
        let Some(_turn) = self.take_turn(&line, cx.waker()) else { return Poll::Pending };
        match &mut self.connection {
            Some(connection) => connection.as_mut().poll(cx),
            None => Poll::Ready(()),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use rota_model::TenantId;
    use tokio::sync::{mpsc, oneshot};

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

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn alone_a_tenant_may_use_all_threads() {
        let turns = Turns::new(Tiers::start());
        let held = [begin(&turns, "a").ok(), begin(&turns, "a").ok()];
        assert!(held.iter().all(Option::is_some));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn beside_others_a_tenant_leaves_them_one_thread() {
        let turns = Turns::new(Tiers::start());
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

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_connection_that_ends_in_the_line_holds_up_nobody() {
        let turns = Turns::new(Tiers::start());
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

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn lines_without_connections_are_forgotten() {
        let turns = Turns::new(Tiers::start());
        let seats = ["a", "b"].map(|name| seat(&turns, &tenant(name)));
        assert_eq!(lock(&turns.lines).len(), 2);
        seats[0].set_source(&tenant("b"));
        assert_eq!(lock(&turns.lines).len(), 1);
        drop(seats);
        assert_eq!(lock(&turns.lines).len(), 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn all_connections_of_all_tenants_get_their_turns() {
        let turns = Turns::new(Tiers::start());
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
                let (ended, end) = oneshot::channel();
                InTurn::spawn(
                    async move {
                        connection.await;
                        let _ = ended.send(());
                    },
                    seat,
                );
                end
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        // The runtime drops a task a moment after it has said that it ends.
        let are_forgotten = async {
            while !lock(&turns.lines).is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), are_forgotten)
            .await
            .expect("no line is left");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_heavy_caller_is_served_in_the_background_until_it_is_light_again() {
        let turns = Turns::new(Tiers::start());
        let seat = seat(&turns, &tenant("a"));
        let line = seat.line();
        let (polled, mut polls) = mpsc::unbounded_channel();
        let connection = poll_fn(move |cx| {
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            polled.send((name, cx.waker().clone())).unwrap();
            Poll::Pending
        });
        InTurn::spawn(connection, seat);
        let mut last: Option<Waker> = None;
        for is_heavy in [false, true, true, false] {
            line.set_heavy(is_heavy);
            if let Some(waker) = last.take() {
                waker.wake();
            }
            let (name, waker) = polls.recv().await.unwrap();
            assert_eq!(name == "rota-background", is_heavy, "{name}");
            last = Some(waker);
        }
    }
}
