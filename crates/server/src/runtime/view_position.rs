//! How far the log and its view have come, for everybody who has to wait for one of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// How far the view is behind the log.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ViewLag {
    pub batches: u64,
    pub bytes: u64,
}

/// Numbers of batches.
pub(super) struct ViewPosition {
    /// The newest batch in the log.
    committed: AtomicU64,
    /// The newest batch that a power cut cannot take from the view.
    durable: AtomicU64,
    /// The view finds no space on the disk.
    short_of_space: AtomicBool,
    applied: Mutex<Applied>,
    changed: Condvar,
}

struct Applied {
    /// The newest batch in the view.
    number: u64,
    /// Readers that wait for a newer one.
    waiting: usize,
    /// Nothing more will be applied.
    stopped: bool,
}

impl ViewPosition {
    /// Of a view that has applied everything that is in the log.
    pub fn new(number: u64) -> Self {
        Self {
            committed: AtomicU64::new(number),
            durable: AtomicU64::new(0),
            short_of_space: AtomicBool::new(false),
            applied: Mutex::new(Applied { number, waiting: 0, stopped: false }),
            changed: Condvar::new(),
        }
    }

    pub fn committed(&self) -> u64 {
        self.committed.load(Ordering::Acquire)
    }

    pub fn set_committed(&self, number: u64) {
        self.committed.store(number, Ordering::Release);
    }

    pub fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    pub fn set_durable(&self, number: u64) {
        self.durable.store(number, Ordering::Release);
    }

    pub fn is_short_of_space(&self) -> bool {
        self.short_of_space.load(Ordering::Acquire)
    }

    pub fn set_short_of_space(&self, short: bool) {
        self.short_of_space.store(short, Ordering::Release);
    }

    /// How many batches the view is behind the log.
    pub fn lag(&self) -> u64 {
        let applied = self.lock().number;
        self.committed().saturating_sub(applied)
    }

    pub fn set_applied(&self, number: u64) {
        let mut applied = self.lock();
        applied.number = number;
        if applied.waiting > 0 {
            self.changed.notify_all();
        }
    }

    /// Nobody waits any longer.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Waits until the view has applied this batch. Returns false if it never will.
    pub fn wait_until_applied(&self, number: u64) -> bool {
        let mut applied = self.lock();
        while applied.number < number {
            if applied.stopped {
                return false;
            }
            applied.waiting += 1;
            applied = self.changed.wait(applied).unwrap_or_else(PoisonError::into_inner);
            applied.waiting -= 1;
        }
        true
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Applied> {
        self.applied.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_reader_waits_for_the_batch_that_it_needs() {
        let position = Arc::new(ViewPosition::new(7));
        assert!(position.wait_until_applied(7), "that one is there");
        position.set_committed(9);
        assert_eq!(position.lag(), 2);
        let waiting = {
            let position = position.clone();
            std::thread::spawn(move || (position.wait_until_applied(9), position.lag()))
        };
        position.set_applied(8);
        position.set_applied(9);
        assert_eq!(waiting.join().unwrap(), (true, 0));
    }

    #[test]
    fn nobody_waits_for_a_view_that_has_stopped() {
        let position = Arc::new(ViewPosition::new(1));
        let waiting = {
            let position = position.clone();
            std::thread::spawn(move || position.wait_until_applied(2))
        };
        position.stop();
        assert!(!waiting.join().unwrap());
    }
}
