//! The only place that reads a clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rota_engine::Now;
use rota_model::Millis;

#[derive(Debug, Clone)]
pub struct Clock {
    origin: Instant,
    /// The time of day at the origin, in milliseconds.
    ahead: Arc<AtomicI64>,
}

/// By so much the two clocks may differ before the time of day is believed again.
const DRIFT_MS: i64 = 5;

impl Clock {
    #[must_use]
    pub fn start() -> Self {
        Self { origin: Instant::now(), ahead: Arc::new(AtomicI64::new(time_of_day())) }
    }

    /// Both clocks go on together, and so the times between starts are the same by either: a limit is
    /// counted by one and seen by the other.
    #[must_use]
    pub fn now(&self) -> Now {
        let (mono, day) = (self.uptime().as_millis() as u64, time_of_day());
        let ahead = agreed(self.ahead.load(Ordering::Relaxed), mono as i64, day);
        self.ahead.store(ahead, Ordering::Relaxed);
        Now { wall: Millis(mono as i64 + ahead), mono }
    }

    /// How long until the monotonic clock shows this.
    #[must_use]
    pub fn until(&self, mono: u64) -> Duration {
        Duration::from_millis(mono).saturating_sub(self.uptime())
    }

    #[must_use]
    pub fn uptime(&self) -> Duration {
        self.origin.elapsed()
    }
}

/// By how much the time of day is ahead, given by how much it was.
fn agreed(was: i64, mono: i64, day: i64) -> i64 {
    let is = day - mono;
    if (is - was).abs() <= DRIFT_MS { was } else { is }
}

fn time_of_day() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_goes_on_with_the_other_clock_until_it_is_set() {
        // The one is cut to the millisecond at other instants than the other, and drifts a little.
        for (mono, day) in [(0, 1_000), (7, 1_006), (8, 1_009), (90, 1_094), (91, 1_086)] {
            assert_eq!(agreed(1_000, mono, day), 1_000);
        }
        assert_eq!(agreed(1_000, 100, 1_106), 1_006);
        assert_eq!(agreed(1_000, 100, 7_000), 6_900);
        assert_eq!(agreed(1_000, 100, 500), 400);
    }

    #[test]
    fn it_is_the_time_of_day() {
        let clock = Clock::start();
        assert!((clock.now().wall.0 - time_of_day()).abs() <= 60_000);
    }
}
