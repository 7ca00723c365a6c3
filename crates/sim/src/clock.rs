//! The simulated wall clock and monotonic clock, and the time that a server makes of them.

use rota_engine::{Now, Timekeeper};
use rota_model::Millis;

/// The time that truly passes, and what the two clocks of a machine make of it.
#[derive(Debug, Clone)]
pub struct Clock {
    elapsed: u64,
    /// How far the wall clock is from where it should be.
    wall_offset: i64,
    /// When the process began, and what its monotonic clock said then.
    process: (u64, u64),
    keeper: Timekeeper,
    now: Now,
}

/// 2026-02-12T10:29:50Z, ten seconds before a minute begins.
const BEGINNING: i64 = 1_770_892_190_000;

impl Default for Clock {
    fn default() -> Self {
        let beginning = Millis(BEGINNING);
        let mut keeper = Timekeeper::new(beginning, 0);
        let now = keeper.read(beginning, 0);
        Self { elapsed: 0, wall_offset: 0, process: (0, 0), keeper, now }
    }
}

impl Clock {
    /// Milliseconds since the run began. No clock of the server shows it.
    #[must_use]
    pub fn elapsed(&self) -> u64 {
        self.elapsed
    }

    /// The time of the server.
    #[must_use]
    pub fn now(&self) -> Now {
        self.now
    }

    pub fn pass(&mut self, ms: u64) {
        self.elapsed += ms;
        self.read();
    }

    /// Someone sets the wall clock, forward or back.
    pub fn set_wall(&mut self, by_ms: i64) {
        self.wall_offset += by_ms;
        self.read();
    }

    /// The wall clock is put right: it shows at least this.
    pub fn correct_wall(&mut self, least: Millis) {
        self.set_wall(least.since(self.wall()).max(0));
    }

    /// A new process counts monotonic time from wherever its machine does.
    pub fn restart(&mut self, base: u64) {
        self.process = (self.elapsed, base);
        self.keeper = Timekeeper::new(self.wall(), self.mono());
        self.read();
    }

    /// The new process has found this time in its store.
    pub fn not_before(&mut self, time: Millis) {
        self.keeper.not_before(time, self.mono());
        self.read();
    }

    fn read(&mut self) {
        self.now = self.keeper.read(self.wall(), self.mono());
    }

    fn wall(&self) -> Millis {
        Millis(BEGINNING + self.elapsed as i64 + self.wall_offset)
    }

    fn mono(&self) -> u64 {
        let (began, base) = self.process;
        base + (self.elapsed - began)
    }
}
