//! A point in time on a clock that never goes back.

use std::ops::Add;
use std::time::Duration;

/// Time since the start of the caller's clock. Decisions compare moments and never read a clock themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment(Duration);

impl Moment {
    /// The start of the clock.
    pub const ZERO: Self = Self(Duration::ZERO);

    /// This long after the start of the clock.
    #[must_use]
    pub const fn at(since_start: Duration) -> Self {
        Self(since_start)
    }

    /// How long it is from `earlier` to this moment; zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(later))
    }
}
