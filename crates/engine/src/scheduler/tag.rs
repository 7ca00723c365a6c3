//! Virtual time: how much each of several competitors has had, divided by its weight.
//!
//! Start-time fair queueing. A competitor's tag is the point in virtual time at which it is served
//! next; a job moves it on by its cost over the weight. The smallest tag is served first, and the
//! present round is the tag at which somebody was last served. Whoever joins begins in the present
//! round: nobody saves up while idle, and nobody waits longer than a round.

use rota_model::{Seq, Weight};
use serde::{Deserialize, Serialize};

/// A point in virtual time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub(crate) struct Tag(pub u128);

/// What one unit of cost is to a competitor of weight 1.
const UNIT: u128 = 1 << 24;

impl Tag {
    /// How far a cost moves a competitor of this weight.
    pub fn step(cost: u64, weight: Weight) -> u128 {
        u128::from(cost) * UNIT * 100 / u128::from(weight.hundredths().max(1))
    }

    pub fn plus(self, step: u128) -> Self {
        Self(self.0.saturating_add(step))
    }

    pub fn minus(self, step: u128) -> Self {
        Self(self.0.saturating_sub(step))
    }
}

/// A place among competitors: by tag, and among equals by the tag that the last service left, so
/// that whoever has waited longest goes first.
pub(crate) type Order = (Tag, Tag);

/// Where fairness is off, jobs go in the order of their numbers.
pub(crate) fn fifo_order(head: Seq) -> Order {
    (Tag(u128::from(head.0)), Tag::default())
}
