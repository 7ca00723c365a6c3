//! The server's clock. The engine thread drives it, and everybody reads it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rota_engine::{Now, Timekeeper};
use rota_model::Millis;

/// The only source of time, for requests and for the engine. See [`Timekeeper`].
#[derive(Debug, Clone)]
pub struct Clock {
    origin: Instant,
    /// The server's time minus monotonic time, in milliseconds; the monotonic clock starts at `origin`.
    offset: Arc<AtomicI64>,
    ahead_ms: Arc<AtomicU64>,
}

/// Reads the system's clocks and sets the server's clock by them.
pub struct ClockDriver {
    clock: Clock,
    keeper: Timekeeper,
}

/// What [`ClockDriver::drive`] found.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    pub now: Now,
    /// By how many milliseconds the wall clock was set since the last reading.
    pub jump_ms: i64,
}

impl Clock {
    #[must_use]
    pub fn now(&self) -> Now {
        let mono = self.uptime().as_millis() as u64;
        Now {
            wall: Millis(mono as i64 + self.offset.load(Ordering::Relaxed)),
            mono,
            ahead_ms: self.ahead_ms.load(Ordering::Relaxed),
        }
    }

    /// The time until the monotonic clock reaches `mono` milliseconds.
    #[must_use]
    pub fn until(&self, mono: u64) -> Duration {
        Duration::from_millis(mono).saturating_sub(self.uptime())
    }

    /// The time since the server started.
    #[must_use]
    pub fn uptime(&self) -> Duration {
        self.origin.elapsed()
    }
}

impl ClockDriver {
    #[must_use]
    pub fn start() -> Self {
        let keeper = Timekeeper::new(wall_clock(), 0);
        let clock = Clock {
            origin: Instant::now(),
            offset: Arc::new(AtomicI64::new(keeper.wall_offset())),
            ahead_ms: Arc::default(),
        };
        Self { clock, keeper }
    }

    /// Goes on from a time that was stored by an earlier process.
    pub fn not_before(&mut self, time: Millis) {
        let mono = self.clock.now().mono;
        self.keeper.not_before(time, mono);
        let ahead_ms = self.drive().now.ahead_ms;
        if ahead_ms >= WORTH_LOGGING_MS {
            tracing::warn!(ahead_ms, "the stored data is later than the clock: was it set back?");
        }
    }

    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Reads the clocks. To be called at least every second or so.
    pub fn drive(&mut self) -> Reading {
        let last = self.keeper.wall_offset();
        let was_ahead = self.clock.ahead_ms.load(Ordering::Relaxed) > 0;
        let mono = self.clock.now().mono;
        let now = self.keeper.read(wall_clock(), mono);
        self.clock.offset.store(now.wall.0 - now.mono as i64, Ordering::Relaxed);
        self.clock.ahead_ms.store(now.ahead_ms, Ordering::Relaxed);
        let jump_ms = self.keeper.wall_offset() - last;
        if jump_ms.unsigned_abs() >= WORTH_LOGGING_MS {
            let ahead_ms = now.ahead_ms;
            tracing::warn!(jump_ms, ahead_ms, "the clock was set");
        } else if was_ahead && now.ahead_ms == 0 {
            tracing::debug!("the clock has caught up with the server's time");
        }
        Reading { now, jump_ms }
    }
}

/// Smaller jumps of the wall clock are not logged.
const WORTH_LOGGING_MS: u64 = 1_000;

fn wall_clock() -> Millis {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_reads_the_time_that_the_driver_has_set() {
        let mut driver = ClockDriver::start();
        let clock = driver.clock().clone();
        assert!((clock.now().wall.0 - wall_clock().0).abs() <= 60_000);
        let later = Millis(wall_clock().0 + 3_600_000);
        driver.not_before(later);
        assert!(clock.now().wall >= later);
        assert!(clock.now().ahead_ms > 3_500_000);
        assert!((clock.now().wall_clock().0 - wall_clock().0).abs() <= 60_000);
    }
}
