//! The line of one owner's connections.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::tiers::Tier;
use super::use_of_time::UseOfTime;
use super::{Owner, Turns, lock};
use crate::runtime::Source;

/// The connections of one owner.
pub(super) struct Line {
    number: u64,
    pub owner: Owner,
    pub turns: Arc<Turns>,
    pub state: Mutex<LineState>,
    used: UseOfTime,
    /// It takes up most of the time, so it is served in the background.
    is_heavy: AtomicBool,
}

#[derive(Default)]
pub(super) struct LineState {
    /// Connections that have a turn.
    polled: usize,
    next_ticket: u64,
    /// In the order of their arrival.
    pub waiting: BTreeMap<u64, Waker>,
    /// Those that were let in and have not noticed yet. They have a turn.
    let_in: BTreeSet<u64>,
}

/// A place in a line, which is given up when this is dropped.
pub(super) struct Place {
    line: Arc<Line>,
    ticket: u64,
}

/// The right to be polled now; the next one is let in when this is dropped.
pub(super) struct Turn {
    line: Arc<Line>,
    begun: Instant,
}

impl Line {
    pub fn new(number: u64, owner: Owner, turns: Arc<Turns>) -> Self {
        let (state, used) = (Mutex::default(), UseOfTime::default());
        Self { number, owner, turns, state, used, is_heavy: AtomicBool::new(false) }
    }

    /// Where its connections are polled.
    pub fn tier(&self) -> Tier {
        match self.is_heavy.load(Ordering::Relaxed) {
            false => Tier::Front,
            true => Tier::Background,
        }
    }

    #[cfg(test)]
    pub fn set_heavy(&self, is_heavy: bool) {
        self.is_heavy.store(is_heavy, Ordering::Relaxed);
    }

    /// Only tenants compete for time. Operators are trusted with it, and a connection of whom nothing is known is
    /// probably that of a caller who is known already.
    fn is_tenant(&self) -> bool {
        matches!(self.owner, Owner::Caller(Source::Tenant(_)))
    }

    /// Adds to the time that its connections have used.
    pub fn note_use(&self, used: Duration) {
        if !self.is_tenant() {
            return;
        }
        let (now, used) = (self.turns.now_ms(), used.as_micros() as u64);
        self.turns.used.add(now, used);
        if self.used.add(now, used) {
            let was_heavy = self.is_heavy.load(Ordering::Relaxed);
            let is_heavy = self.turns.has_served_several()
                && self.used.is_heavy_beside(&self.turns.used, was_heavy);
            self.is_heavy.store(is_heavy, Ordering::Relaxed);
        }
    }

    /// Takes a turn, or else a place in the line.
    pub fn begin(self: &Arc<Self>, waker: &Waker) -> Result<Turn, Place> {
        if self.is_tenant() {
            self.turns.note_turn(self.number);
        }
        let most = self.turns.most();
        let mut state = lock(&self.state);
        if state.polled < most && state.waiting.is_empty() {
            state.polled += 1;
            drop(state);
            return Ok(Turn::begin(self.clone()));
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
    pub fn is_let_in(&self, waker: &Waker) -> bool {
        let mut state = lock(&self.line.state);
        if state.let_in.remove(&self.ticket) {
            return true;
        }
        if let Some(own) = state.waiting.get_mut(&self.ticket) {
            own.clone_from(waker);
        }
        false
    }

    /// The turn of a place that was let in.
    pub fn into_turn(self) -> Turn {
        Turn::begin(self.line.clone())
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

impl Turn {
    fn begin(line: Arc<Line>) -> Self {
        Self { line, begun: Instant::now() }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.line.note_use(self.begun.elapsed());
        self.line.end();
    }
}
