//! The only place that reads a clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rota_engine::Now;
use rota_model::Millis;

#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    #[must_use]
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    #[must_use]
    pub fn now(&self) -> Now {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Now {
            wall: Millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)),
            mono: self.uptime().as_millis() as u64,
        }
    }

    #[must_use]
    pub fn uptime(&self) -> Duration {
        self.origin.elapsed()
    }
}
