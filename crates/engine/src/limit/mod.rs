//! Limits: what is counted by key, and who waits for it.
//!
//! A [`Limit`] is a key with its counters. A [`Gate`] is that key with the numbers of some jobs:
//! jobs of one key share counters, and each is held by its own numbers. Lanes that may not start
//! wait in their gate's lots, one lot for each queue, and cost nothing there.

mod key;
mod lot;
mod pace;
mod table;
mod window;

pub(crate) use key::{Closed, Hold, Limit, LimitRow, LimitState, Opening, Override, Partition};
pub(crate) use lot::{Lanes, Lot, Rank, Told};
pub(crate) use table::{GateIx, LimitIx, Limits};
pub(crate) use window::Window;

/// Which part of a limit holds a job back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strategy {
    Concurrency,
    Rate,
    Throttle,
    /// A handler or an operator has stopped the key.
    Pause,
}

impl Strategy {
    pub const ALL: [Strategy; 4] =
        [Strategy::Concurrency, Strategy::Rate, Strategy::Throttle, Strategy::Pause];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Strategy::Concurrency => "concurrency",
            Strategy::Rate => "rate",
            Strategy::Throttle => "throttle",
            Strategy::Pause => "pause",
        }
    }
}
