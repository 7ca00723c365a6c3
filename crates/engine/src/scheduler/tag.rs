//! Virtual time: what a competitor has been served, divided by its weight.
//!
//! This is start-time fair queueing. A competitor's tag is the point in virtual time at which it is
//! served next; a job advances it by cost divided by weight. The smallest tag is served first, and the
//! round is the tag at which somebody was last served in turn. A competitor that joins starts at the
//! round: nobody saves up while idle, and nobody waits longer than a round.

use rota_model::{Seq, Weight};
use serde::{Deserialize, Serialize};

/// A point in virtual time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub(crate) struct Tag(pub u128);

/// One unit of cost at weight 1.
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

/// A sort key among competitors: the tag, then the tag after the last service, so that among equal
/// tags the competitor that has waited longest goes first.
pub(crate) type Order = (Tag, Tag);

/// The order with fairness off: by the number of the first job.
pub(crate) fn fifo_order(head: Seq) -> Order {
    (Tag(u128::from(head.0)), Tag::default())
}
