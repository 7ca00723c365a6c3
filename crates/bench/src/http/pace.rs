//! A steady rate of requests, whatever the server does: a request that could not be sent in time
//! because all connections were waiting counts from when it should have been sent.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Requests are due in small groups, this far apart.
const TICK: Duration = Duration::from_millis(1);

pub(super) struct Pace {
    start: Instant,
    per_second: f64,
    released: u64,
    due: VecDeque<Instant>,
}

impl Pace {
    pub fn new(start: Instant, per_second: f64) -> Self {
        Self { start, per_second, released: 0, due: VecDeque::new() }
    }

    /// The moment from which the next request counts, if one is due by now.
    pub fn next(&mut self, now: Instant) -> Option<Instant> {
        let ticks = now.duration_since(self.start).as_nanos() / TICK.as_nanos();
        let moment = self.start + TICK * u32::try_from(ticks).unwrap_or(u32::MAX);
        let total = moment.duration_since(self.start).as_secs_f64() * self.per_second;
        while (self.released as f64) < total.floor() {
            self.released += 1;
            self.due.push_back(moment);
        }
        self.due.pop_front()
    }

    /// A moment that was taken and could not be used.
    pub fn put_back(&mut self, moment: Instant) {
        self.due.push_front(moment);
    }
}

/// Wakes the generator at every tick. A thread, because a poll wakes only at whole milliseconds.
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
            // It cannot panic, and nothing depends on it any more.
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
        assert_eq!(pace.next(at(1)), Some(at(1)));
        assert_eq!(pace.next(at(1)), Some(at(1)));
        assert_eq!(pace.next(at(1)), None);
        assert_eq!(pace.next(at(2)), Some(at(2)));
        assert_eq!(pace.next(at(50)), Some(at(2)), "the other of the second tick");
    }
}
