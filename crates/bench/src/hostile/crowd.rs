//! The hostile tenant's connections: a thread of low priority that never gives in.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};

use super::member::{Member, Outcome};
use super::role::Role;
use crate::BenchError;
use crate::priority;

/// How often closed connections are opened again, and slow bodies get their next byte.
const TICK: Duration = Duration::from_millis(100);
/// How long the crowd may take to connect.
const MAX_GATHERING: Duration = Duration::from_secs(5);

/// Connections that do their worst until this is dropped.
pub(super) struct Crowd {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// All connections were opened once.
    is_complete: AtomicBool,
    accepted: AtomicU64,
    refused: AtomicU64,
    closed: AtomicU64,
}

/// What the crowd has met with so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Deeds {
    /// Answers with a status of success.
    pub accepted: u64,
    /// Answers with any other status.
    pub refused: u64,
    /// Connections that ended, or could not be opened.
    pub closed: u64,
}

impl Deeds {
    /// Adds what happened between two looks at the same crowd.
    pub fn add(&mut self, after: Self, before: Self) {
        self.accepted += after.accepted - before.accepted;
        self.refused += after.refused - before.refused;
        self.closed += after.closed - before.closed;
    }
}

impl Crowd {
    /// Opens one connection for each role. Returns when all are open, or after a while.
    pub fn gather(
        address: SocketAddr,
        headers: &Arc<str>,
        roles: Vec<Role>,
    ) -> Result<Self, BenchError> {
        let poll = Poll::new()?;
        let shared = Arc::new(Shared::default());
        let members =
            roles.into_iter().map(|role| Member::new(address, headers.clone(), role)).collect();
        let theirs = shared.clone();
        let thread = std::thread::spawn(move || {
            // The attacker's machine is another one: here, it gets the time that nobody else wants.
            priority::lower();
            run(poll, members, &theirs);
        });
        let crowd = Self { shared, thread: Some(thread) };
        let begun = Instant::now();
        while !crowd.shared.is_complete.load(Ordering::Relaxed) && begun.elapsed() < MAX_GATHERING {
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(crowd)
    }

    pub fn deeds(&self) -> Deeds {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Shared { accepted, refused, closed, .. } = &*self.shared;
        Deeds { accepted: count(accepted), refused: count(refused), closed: count(closed) }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported by itself.
            let _ = thread.join();
        }
    }
}

fn run(mut poll: Poll, mut members: Vec<Member>, shared: &Shared) {
    let mut events = Events::with_capacity(1024);
    let mut ticked: Option<Instant> = None;
    while !shared.stop.load(Ordering::Relaxed) {
        if ticked.is_none_or(|ticked| ticked.elapsed() >= TICK) {
            ticked = Some(Instant::now());
            for (i, member) in members.iter_mut().enumerate() {
                shared.count(member.tick(poll.registry(), Token(i)));
                if shared.stop.load(Ordering::Relaxed) {
                    return;
                }
            }
            shared.is_complete.store(true, Ordering::Relaxed);
        }
        // An interruption by a signal is no reason to end: whoever measures decides that.
        if poll.poll(&mut events, Some(TICK)).is_err() {
            continue;
        }
        for event in &events {
            shared.count(members[event.token().0].ready(event));
        }
    }
}

impl Shared {
    fn count(&self, outcome: Outcome) {
        let Outcome { accepted, refused, closed } = outcome;
        for (counter, more) in
            [(&self.accepted, accepted), (&self.refused, refused), (&self.closed, closed)]
        {
            if more > 0 {
                counter.fetch_add(more, Ordering::Relaxed);
            }
        }
    }
}
