//! The clock: wall time and monotonic time, kept in step so that the engine sees one time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rota_engine::Now;
use rota_model::Millis;

/// The engine's only source of time.
#[derive(Debug, Clone)]
pub struct Clock {
    origin: Instant,
    /// Wall time minus monotonic time, in milliseconds; the monotonic clock starts at `origin`.
    wall_offset: Arc<AtomicI64>,
}

/// The drift between the two clocks that is ignored. A larger one means that the wall clock was set.
const DRIFT_MS: i64 = 5;

impl Clock {
    #[must_use]
    pub fn start() -> Self {
        Self { origin: Instant::now(), wall_offset: Arc::new(AtomicI64::new(wall_ms())) }
    }

    /// Both clocks advance together, so an interval is the same on either of them. Rate limits need
    /// that: they count in monotonic time, and clients see wall time.
    #[must_use]
    pub fn now(&self) -> Now {
        let (mono, wall) = (self.uptime().as_millis() as u64, wall_ms());
        let offset = next_offset(self.wall_offset.load(Ordering::Relaxed), mono as i64, wall);
        self.wall_offset.store(offset, Ordering::Relaxed);
        Now { wall: Millis(mono as i64 + offset), mono }
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

/// The previous offset, unless the clocks have drifted apart from it by more than `DRIFT_MS`.
fn next_offset(previous: i64, mono: i64, wall: i64) -> i64 {
    let offset = wall - mono;
    if (offset - previous).abs() <= DRIFT_MS { previous } else { offset }
}

fn wall_ms() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_kept_until_the_wall_clock_is_set() {
        // The clocks are rounded to milliseconds at different instants, and drift a little.
        for (mono, wall) in [(0, 1_000), (7, 1_006), (8, 1_009), (90, 1_094), (91, 1_086)] {
            assert_eq!(next_offset(1_000, mono, wall), 1_000);
        }
        assert_eq!(next_offset(1_000, 100, 1_106), 1_006);
        assert_eq!(next_offset(1_000, 100, 7_000), 6_900);
        assert_eq!(next_offset(1_000, 100, 500), 400);
    }

    #[test]
    fn now_agrees_with_the_wall_clock() {
        let clock = Clock::start();
        assert!((clock.now().wall.0 - wall_ms()).abs() <= 60_000);
    }
}
