//! A bounded queue between threads.
//!
//! Who has to wait goes to sleep at once. Channels that spin and yield first are faster on idle
//! processors; on busy ones each yield can cost milliseconds.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(super) struct Queue<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
    emptied: Condvar,
    capacity: usize,
}

struct State<T> {
    items: VecDeque<T>,
    /// How many sleep because there is nothing, and because there is no room.
    idle: usize,
    blocked: usize,
    closed: bool,
}

/// Why something was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Full,
    Closed,
}

/// What a wait came to.
pub(super) enum Popped<T> {
    Item(T),
    Nothing,
    Closed,
}

impl<T> Queue<T> {
    pub fn new(capacity: usize) -> Self {
        let state = State { items: VecDeque::new(), idle: 0, blocked: 0, closed: false };
        let (filled, emptied) = (Condvar::new(), Condvar::new());
        Self { state: Mutex::new(state), filled, emptied, capacity }
    }

    pub fn try_push(&self, item: T) -> Result<(), Refused> {
        let state = self.lock();
        match &*state {
            state if state.closed => Err(Refused::Closed),
            state if state.items.len() >= self.capacity => Err(Refused::Full),
            _ => {
                self.add(state, item);
                Ok(())
            }
        }
    }

    /// Waits for room. What comes back was not taken, because nobody will take anything any more.
    pub fn push(&self, item: T) -> Result<(), T> {
        let mut state = self.lock();
        while !state.closed && state.items.len() >= self.capacity {
            state.blocked += 1;
            state = self.emptied.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.blocked -= 1;
        }
        if state.closed {
            return Err(item);
        }
        self.add(state, item);
        Ok(())
    }

    /// Waits for something, for so long at the most.
    pub fn pop(&self, patience: Duration) -> Popped<T> {
        let mut state = self.lock();
        if state.items.is_empty() && !state.closed {
            state.idle += 1;
            let slept = self.filled.wait_timeout(state, patience);
            state = slept.unwrap_or_else(PoisonError::into_inner).0;
            state.idle -= 1;
        }
        match state.items.pop_front() {
            Some(item) => {
                let wake = state.blocked > 0;
                drop(state);
                if wake {
                    self.emptied.notify_one();
                }
                Popped::Item(item)
            }
            None if state.closed => Popped::Closed,
            None => Popped::Nothing,
        }
    }

    /// Nothing is taken from now on, and what was not fetched is gone.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let left = std::mem::take(&mut state.items);
        drop(state);
        drop(left);
        self.filled.notify_all();
        self.emptied.notify_all();
    }

    fn add(&self, mut state: MutexGuard<'_, State<T>>, item: T) {
        state.items.push_back(item);
        let wake = state.idle > 0;
        drop(state);
        if wake {
            self.filled.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn is_bounded_and_in_order() {
        let queue = Queue::new(2);
        assert_eq!(queue.try_push(1), Ok(()));
        assert_eq!(queue.try_push(2), Ok(()));
        assert_eq!(queue.try_push(3), Err(Refused::Full));
        assert!(matches!(queue.pop(LONG), Popped::Item(1)));
        assert!(matches!(queue.pop(LONG), Popped::Item(2)));
        assert!(matches!(queue.pop(Duration::ZERO), Popped::Nothing));
    }

    #[test]
    fn wakes_who_waits_for_something_and_who_waits_for_room() {
        let queue = Arc::new(Queue::new(1));
        let theirs = queue.clone();
        let pushing = std::thread::spawn(move || (0..1000).all(|n| theirs.push(n).is_ok()));
        for expected in 0..1000 {
            assert!(matches!(queue.pop(LONG), Popped::Item(n) if n == expected));
        }
        assert!(pushing.join().unwrap());
    }

    #[test]
    fn a_closed_queue_lets_everybody_go() {
        let queue = Arc::new(Queue::new(1));
        queue.push(1).unwrap();
        let theirs = queue.clone();
        let blocked = std::thread::spawn(move || theirs.push(2));
        queue.close();
        assert_eq!(blocked.join().unwrap(), Err(2));
        assert_eq!(queue.try_push(3), Err(Refused::Closed));
        assert!(matches!(queue.pop(LONG), Popped::Closed));
    }
}
