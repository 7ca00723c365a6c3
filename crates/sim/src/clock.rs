//! The simulated wall clock and monotonic clock.

use rota_engine::Now;
use rota_model::Millis;

/// The time that truly passes, and what the two clocks of a machine make of it.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    elapsed: u64,
    /// How far the wall clock is from where it should be.
    wall_offset: i64,
    /// When the process began, and what its monotonic clock said then.
    process: (u64, u64),
}

/// 2026-02-12T10:29:50Z, ten seconds before a minute begins.
const BEGINNING: i64 = 1_770_892_190_000;

impl Clock {
    /// Milliseconds since the run began. No clock of the server shows it.
    #[must_use]
    pub fn elapsed(&self) -> u64 {
        self.elapsed
    }

    #[must_use]
    pub fn now(&self) -> Now {
        let (began, base) = self.process;
        Now {
            wall: Millis(BEGINNING + self.elapsed as i64 + self.wall_offset),
            mono: base + (self.elapsed - began),
        }
    }

    pub fn pass(&mut self, ms: u64) {
        self.elapsed += ms;
    }

    /// Someone sets the wall clock, forward or back.
    pub fn set_wall(&mut self, by_ms: i64) {
        self.wall_offset += by_ms;
    }

    /// The wall clock is put right: it shows at least this.
    pub fn correct_wall(&mut self, least: Millis) {
        self.wall_offset += least.since(self.now().wall).max(0);
    }

    /// A new process counts monotonic time from wherever its machine does.
    pub fn restart(&mut self, base: u64) {
        self.process = (self.elapsed, base);
    }
}
