//! The gates of one waitlist that share a bucket.

use super::line::Line;
use super::{GateIx, GroupKey, Rank, Subscription};
use crate::scheduler::small_map::SmallMap;
use crate::scheduler::turn::TurnIx;

/// How a gate is listed in its bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GateListing {
    /// Several turns wait at the gate: listed by the rank of the first.
    Contested(Rank),
    /// One turn waits at the gate: listed together with the other gates at which only that turn waits.
    Solo(TurnIx, GroupKey),
}

/// Gates in the order of their first turns. Gates with a single turn are listed by turn, so that a
/// turn moves back in one step however many sets of numbers its jobs carry.
#[derive(Debug, Default)]
pub(super) struct BucketGates {
    pub contested: SmallMap<(Rank, GateIx)>,
    pub solo: Line,
    pub asleep: bool,
    /// The rank under which the bucket is in `Waitlist::awake`.
    pub rank: Option<Rank>,
    pub subscribed: Option<Subscription>,
}

impl BucketGates {
    pub fn is_empty(&self) -> bool {
        self.contested.is_empty() && self.solo.is_empty()
    }

    pub fn first(&self) -> Option<(Rank, GateIx)> {
        let contested = self.contested.first().copied();
        let solo = self
            .solo
            .first()
            .and_then(|(rank, turn, _)| self.solo.first_group(turn).map(|(_, gate)| (rank, gate)));
        contested.into_iter().chain(solo).min()
    }

    pub fn unlist(&mut self, gate: GateIx, listed: Option<GateListing>) {
        match listed {
            Some(GateListing::Contested(rank)) => {
                self.contested.remove(&(rank, gate));
            }
            Some(GateListing::Solo(turn, group)) => {
                self.solo.remove(turn, group);
            }
            None => {}
        }
    }
}
