//! Sending requests at a steady rate.
//!
//! If a request is sent late because all connections were busy, its time counts from when it was due.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Interval between groups of requests.
const TICK: Duration = Duration::from_millis(1);

pub(super) struct Pace {
    start: Instant,
    per_second: f64,
    released: u64,
}

impl Pace {
    pub fn new(start: Instant, per_second: f64) -> Self {
        Self { start, per_second, released: 0 }
    }

    /// When the next request is due, which may be in the past or the future.
    pub fn due(&self) -> Instant {
        let seconds = (self.released + 1) as f64 / self.per_second;
        let ticks = (seconds / TICK.as_secs_f64()).ceil();
        self.start + TICK * (ticks as u32)
    }

    /// Returns when the next request is due and advances to the one after.
    pub fn release(&mut self) -> Instant {
        let due = self.due();
        self.released += 1;
        due
    }
}

/// Wakes the generator at every tick. It is a thread, because polls time out at whole milliseconds only.
pub(super) struct Ticker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    pub fn start(begin: Instant, waker: mio::Waker) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let theirs = stop.clone();
        let thread = thread::spawn(move || {
            let mut next = begin;
            while !theirs.load(Ordering::Relaxed) {
                next += TICK;
                thread::sleep(next.saturating_duration_since(Instant::now()));
                if waker.wake().is_err() {
                    return;
                }
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread does not matter any more.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_were_not_sent_in_time_count_from_when_they_were_due() {
        let start = Instant::now();
        let mut pace = Pace::new(start, 2000.0);
        let at = |ms| start + Duration::from_millis(ms);
        let ticks = [1, 1, 2, 2, 3, 3].map(at);
        // It does not matter when they are taken.
        assert_eq!(ticks.map(|_| pace.release()), ticks);
        assert_eq!(pace.due(), at(4));
    }

    #[test]
    fn a_slow_pace_is_kept_too() {
        let start = Instant::now();
        let mut pace = Pace::new(start, 0.5);
        assert_eq!(pace.release(), start + Duration::from_secs(2));
        assert_eq!(pace.release(), start + Duration::from_secs(4));
    }
}
