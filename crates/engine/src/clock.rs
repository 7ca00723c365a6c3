//! The times that the engine is given, and how they follow from the clocks of a machine.

use rota_model::Millis;

/// The current time.
///
/// Schedules follow `wall`. Reservations count monotonic time, so that a jump of the wall clock does not
/// end them all at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Now {
    /// The server's time, which never goes back.
    pub wall: Millis,
    /// Milliseconds since an arbitrary start; never goes back while the process lives.
    pub mono: u64,
    /// By how much the server's time is ahead of the wall clock, after that was set back.
    pub ahead_ms: u64,
}

impl Now {
    /// What the wall clock shows.
    #[must_use]
    pub fn wall_clock(self) -> Millis {
        self.wall.saturating_sub_ms(i64::try_from(self.ahead_ms).unwrap_or(i64::MAX))
    }
}

/// The server's time. It follows the wall clock forward at once. When the wall clock is set back, the time
/// goes on, slightly slower, until the wall clock has caught up: what was to happen in two minutes
/// happens in two minutes.
#[derive(Debug, Clone)]
pub struct Timekeeper {
    /// The wall clock minus the monotonic clock, in milliseconds.
    wall_offset: i64,
    /// The server's time minus the monotonic clock.
    offset: i64,
    /// The server's time has been slowed down up to this monotonic time.
    slowed_until: u64,
}

/// The drift between the two clocks that is ignored. A larger one means that the wall clock was set.
const DRIFT_MS: u64 = 5;
/// While it is ahead, the server's time loses 1 ms in this many.
const SLOWDOWN: u64 = 200;

impl Timekeeper {
    #[must_use]
    pub fn new(wall: Millis, mono: u64) -> Self {
        let offset = wall.0.saturating_sub(mono as i64);
        Self { wall_offset: offset, offset, slowed_until: mono }
    }

    /// The time is already this: it was stored by an earlier process.
    pub fn not_before(&mut self, time: Millis, mono: u64) {
        self.offset = self.offset.max(time.0.saturating_sub(mono as i64));
        self.slowed_until = mono;
    }

    /// The time when the clocks show this. Both advance together, so an interval is the same on either of
    /// them. Rate limits need that: they count in monotonic time, and clients see wall time.
    pub fn read(&mut self, wall: Millis, mono: u64) -> Now {
        let offset = wall.0.saturating_sub(mono as i64);
        if offset.abs_diff(self.wall_offset) > DRIFT_MS {
            self.wall_offset = offset;
        }
        if self.wall_offset >= self.offset {
            (self.offset, self.slowed_until) = (self.wall_offset, mono);
        } else {
            let lost = mono.saturating_sub(self.slowed_until) / SLOWDOWN;
            self.slowed_until += lost * SLOWDOWN;
            self.offset = self.wall_offset.max(self.offset - lost as i64);
        }
        Now {
            wall: Millis(mono as i64 + self.offset),
            mono,
            ahead_ms: self.offset.abs_diff(self.wall_offset),
        }
    }

    /// The wall clock minus the monotonic clock, in milliseconds. It changes when the wall clock is set.
    #[must_use]
    pub fn wall_offset(&self) -> i64 {
        self.wall_offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 1_770_000_000_000;
    const HOUR: i64 = 3_600_000;

    fn read(keeper: &mut Timekeeper, wall: i64, mono: i64) -> (i64, i64) {
        let now = keeper.read(Millis(NOON + wall), mono as u64);
        assert_eq!(now.wall_clock().0, now.wall.0 - now.ahead_ms as i64);
        (now.wall.0 - NOON, now.ahead_ms as i64)
    }

    #[test]
    fn a_little_drift_and_rounding_are_ignored() {
        let mut keeper = Timekeeper::new(Millis(NOON), 0);
        for (mono, wall) in [(7, 6), (8, 9), (90, 94), (91, 86)] {
            assert_eq!(read(&mut keeper, wall, mono), (mono, 0));
        }
    }

    #[test]
    fn a_clock_that_is_set_forward_is_followed_at_once() {
        let mut keeper = Timekeeper::new(Millis(NOON), 0);
        assert_eq!(read(&mut keeper, HOUR + 10, 10), (HOUR + 10, 0));
        assert_eq!(read(&mut keeper, HOUR + 20, 20), (HOUR + 20, 0));
    }

    #[test]
    fn the_time_goes_on_when_the_clock_is_set_back_and_lets_it_catch_up() {
        let mut keeper = Timekeeper::new(Millis(NOON), 0);
        assert_eq!(read(&mut keeper, 10 - HOUR, 10), (10, HOUR));
        let (mut mono, mut last) = (10, 10);
        for _ in 0..240 {
            mono += 500;
            let (time, ahead) = read(&mut keeper, mono - HOUR, mono);
            assert!((497..=498).contains(&(time - last)), "{}", time - last);
            assert_eq!(ahead, time - (mono - HOUR));
            last = time;
        }
        assert_eq!(last, mono - 600, "two minutes last 0.6 s longer");
        mono += 200 * HOUR;
        assert_eq!(read(&mut keeper, mono - HOUR, mono), (mono - HOUR, 0), "it has caught up");
        assert_eq!(read(&mut keeper, mono, mono), (mono, 0), "and is followed again");
    }

    #[test]
    fn a_correction_after_running_ahead_takes_nothing_back() {
        let mut keeper = Timekeeper::new(Millis(NOON), 0);
        assert_eq!(read(&mut keeper, HOUR, 0), (HOUR, 0));
        assert_eq!(read(&mut keeper, 50, 50), (HOUR + 50, HOUR));
    }

    #[test]
    fn the_time_of_an_earlier_process_is_kept() {
        let mut keeper = Timekeeper::new(Millis(NOON), 500);
        keeper.not_before(Millis(NOON + HOUR), 600);
        assert_eq!(read(&mut keeper, 100, 600), (HOUR, HOUR - 100));
        keeper.not_before(Millis(NOON), 600);
        assert_eq!(read(&mut keeper, 100, 600), (HOUR, HOUR - 100));
    }
}
