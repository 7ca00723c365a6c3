//! A bounded queue between threads.
//!
//! A thread that has to wait goes to sleep at once. Channels that spin and yield first are faster on
//! idle processors, but on busy ones each yield can cost milliseconds.

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
    /// Threads that sleep in `pop` because the queue is empty.
    popping: usize,
    /// Threads that sleep in `push` because the queue is full.
    pushing: usize,
    closed: bool,
}

/// Why an item was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PushError {
    Full,
    Closed,
}

/// The outcome of [`Queue::pop`].
pub(super) enum Popped<T> {
    Item(T),
    TimedOut,
    Closed,
}

impl<T> Queue<T> {
    pub fn new(capacity: usize) -> Self {
        let state = State { items: VecDeque::new(), popping: 0, pushing: 0, closed: false };
        let (filled, emptied) = (Condvar::new(), Condvar::new());
        Self { state: Mutex::new(state), filled, emptied, capacity }
    }

    pub fn try_push(&self, item: T) -> Result<(), PushError> {
        let state = self.lock();
        match &*state {
            state if state.closed => Err(PushError::Closed),
            state if state.items.len() >= self.capacity => Err(PushError::Full),
            _ => {
                self.add(state, item);
                Ok(())
            }
        }
    }

    /// Waits for room. Returns the item if the queue is closed.
    pub fn push(&self, item: T) -> Result<(), T> {
        let mut state = self.lock();
        while !state.closed && state.items.len() >= self.capacity {
            state.pushing += 1;
            state = self.emptied.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.pushing -= 1;
        }
        if state.closed {
            return Err(item);
        }
        self.add(state, item);
        Ok(())
    }

    /// Takes the oldest item; waits up to `timeout` for one.
    pub fn pop(&self, timeout: Duration) -> Popped<T> {
        let mut state = self.lock();
        if state.items.is_empty() && !state.closed {
            state.popping += 1;
            let slept = self.filled.wait_timeout(state, timeout);
            state = slept.unwrap_or_else(PoisonError::into_inner).0;
            state.popping -= 1;
        }
        match state.items.pop_front() {
            Some(item) => {
                let wake = state.pushing > 0;
                drop(state);
                if wake {
                    self.emptied.notify_one();
                }
                Popped::Item(item)
            }
            None if state.closed => Popped::Closed,
            None => Popped::TimedOut,
        }
    }

    /// Drops the queued items, accepts no more, and wakes all waiting threads.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let remaining = std::mem::take(&mut state.items);
        drop(state);
        drop(remaining);
        self.filled.notify_all();
        self.emptied.notify_all();
    }

    fn add(&self, mut state: MutexGuard<'_, State<T>>, item: T) {
        state.items.push_back(item);
        let wake = state.popping > 0;
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
        assert_eq!(queue.try_push(3), Err(PushError::Full));
        assert!(matches!(queue.pop(LONG), Popped::Item(1)));
        assert!(matches!(queue.pop(LONG), Popped::Item(2)));
        assert!(matches!(queue.pop(Duration::ZERO), Popped::TimedOut));
    }

    #[test]
    fn wakes_threads_that_wait_for_an_item_or_for_room() {
        let queue = Arc::new(Queue::new(1));
        let shared = queue.clone();
        let pushing = std::thread::spawn(move || (0..1000).all(|n| shared.push(n).is_ok()));
        for expected in 0..1000 {
            assert!(matches!(queue.pop(LONG), Popped::Item(n) if n == expected));
        }
        assert!(pushing.join().unwrap());
    }

    #[test]
    fn closing_wakes_all_waiting_threads() {
        let queue = Arc::new(Queue::new(1));
        queue.push(1).unwrap();
        let shared = queue.clone();
        let blocked = std::thread::spawn(move || shared.push(2));
        queue.close();
        assert_eq!(blocked.join().unwrap(), Err(2));
        assert_eq!(queue.try_push(3), Err(PushError::Closed));
        assert!(matches!(queue.pop(LONG), Popped::Closed));
    }
}
