//! Limits: counters by key, and the turns that wait for them.
//!
//! A [`Limit`] is a key with its counters. A [`Gate`] is a limit with one set of numbers: jobs of a
//! key share its counters, and each is held by its own numbers. A [`Waitlist`] has the turns that wait
//! for a limit in one queue.

use std::collections::VecDeque;

mod booked_jobs;
mod gates;
mod history;
mod limit;
mod line;
mod opening;
mod order;
mod pace;
mod partition;
mod persisted;
mod settings;
mod sleepers;
mod table;
mod waitlist;
mod window;

pub(crate) use history::History;
pub(crate) use limit::Limit;
pub(crate) use opening::{Bucket, Cause, Closed, Opening};
pub(crate) use partition::Partition;
pub(crate) use persisted::LimitState;
pub(crate) use settings::{KeyPause, LimitSettings, Override};
pub(crate) use sleepers::{Sleeper, Sleepers};
pub(crate) use table::{Gate, GateIx, LimitIx, Limits};
pub(crate) use waitlist::{FirstInLine, GroupKey, Rank, Subscription, Waitlist};
pub(crate) use window::Window;

/// What was reported when jobs began to wait: the kind of limit, and the monotonic time in
/// milliseconds.
pub(crate) type ClosedNotice = (LimitKind, u64);

/// The part of a limit that a job waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LimitKind {
    Concurrency,
    Rate,
    Throttle,
    /// A handler or an operator has paused the key.
    Pause,
}

impl LimitKind {
    pub const ALL: [LimitKind; 4] =
        [LimitKind::Concurrency, LimitKind::Rate, LimitKind::Throttle, LimitKind::Pause];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LimitKind::Concurrency => "concurrency",
            LimitKind::Rate => "rate",
            LimitKind::Throttle => "throttle",
            LimitKind::Pause => "pause",
        }
    }
}

/// Removes one start at exactly this time. Returns whether there was one.
fn remove_start(starts: &mut VecDeque<(i64, u32)>, at: i64) -> bool {
    let Ok(index) = starts.binary_search_by_key(&at, |&(at, _)| at) else { return false };
    starts[index].1 -= 1;
    if starts[index].1 == 0 {
        starts.remove(index);
    }
    true
}
