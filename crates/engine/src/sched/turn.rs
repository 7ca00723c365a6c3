//! Whose turn it is: the tenants that have something to be served at one level of one queue.
//!
//! Deficit round-robin with the rounds done by arithmetic. A turn's tag is the round, as a
//! fraction, in which its tenant may be served next: a job costs the reciprocal of its tenant's
//! weight. The turn with the smallest tag is served, and the level's round is that tag. Who joins
//! begins in the present round, so that nobody saves up while idle, and nobody waits longer than a
//! round.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rota_model::{ClassId, Seq, Weight};
use serde::{Deserialize, Serialize};

use super::{QueueIx, ShardIx};
use crate::limit::GateIx;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TurnIx(pub u32);

/// A point in the sequence of rounds.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub(crate) struct Tag(pub u128);

/// What one unit of cost is to a tenant of weight 1.
const UNIT: u128 = 1 << 24;

impl Tag {
    /// What a cost means to a tenant of this weight.
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

/// Where a turn stands among others: by its tag; where the round has overtaken several while they
/// waited elsewhere, the one that has waited for longest goes first.
pub(crate) type Order = (Tag, Tag);

/// Where fairness is off, jobs go in the order in which they came.
pub(crate) fn came(head: Seq) -> Order {
    (Tag(u128::from(head.0)), Tag::default())
}

/// A lane in its turn: the higher priority first, there the older head.
pub(crate) type LaneKey = (Reverse<i16>, Seq, ClassId);

#[derive(Debug)]
pub(crate) struct Turn {
    pub shard: ShardIx,
    pub queue: QueueIx,
    pub level: i32,
    pub tag: Tag,
    /// The tag that it was left with when it was last served.
    pub since: Tag,
    /// Lanes that may be served from.
    pub lanes: BTreeSet<LaneKey>,
    /// The gates behind which a group of its lanes waits.
    pub groups: BTreeSet<GateIx>,
    /// Those of them that are open, and where it is the first.
    pub leads: BTreeSet<GateIx>,
    /// An open gate calls it before its turn, because its place there is older.
    pub called: Option<(GateIx, Order)>,
    pub seat: Seat,
    /// It was served in the batch under way.
    pub served: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seat {
    /// In no order; it may have lanes behind gates.
    Out,
    /// In its level's ring, under this key.
    Ring(Order),
    /// Kept out by its tenant's limit or pause.
    Parked,
    /// Nothing waits; the tag is remembered until the level's round has passed it.
    Idle(Tag),
}

/// All turns. A tenant that has nothing to do has none.
#[derive(Default)]
pub(crate) struct Turns {
    all: Vec<Option<Box<Turn>>>,
    free: Vec<TurnIx>,
}

impl Turns {
    pub fn add(&mut self, turn: Turn) -> TurnIx {
        match self.free.pop() {
            Some(ix) => {
                self.all[ix.0 as usize] = Some(Box::new(turn));
                ix
            }
            None => {
                self.all.push(Some(Box::new(turn)));
                TurnIx(self.all.len() as u32 - 1)
            }
        }
    }

    pub fn get(&self, ix: TurnIx) -> &Turn {
        self.all[ix.0 as usize].as_ref().expect("a turn is there while it is named")
    }

    pub fn find(&self, ix: TurnIx) -> Option<&Turn> {
        self.all[ix.0 as usize].as_deref()
    }

    pub fn find_mut(&mut self, ix: TurnIx) -> Option<&mut Turn> {
        self.all[ix.0 as usize].as_deref_mut()
    }

    pub fn iter(&self) -> impl Iterator<Item = (TurnIx, &Turn)> {
        let all = self.all.iter().enumerate();
        all.filter_map(|(i, turn)| Some((TurnIx(i as u32), turn.as_deref()?)))
    }

    pub fn get_mut(&mut self, ix: TurnIx) -> &mut Turn {
        self.all[ix.0 as usize].as_mut().expect("a turn is there while it is named")
    }

    pub fn remove(&mut self, ix: TurnIx) {
        self.all[ix.0 as usize] = None;
        self.free.push(ix);
    }
}

/// One level of priority in one queue.
#[derive(Debug, Default)]
pub(crate) struct Level {
    /// Turns that may be served, the next one first.
    pub ring: BTreeSet<(Order, TurnIx)>,
    pub idle: BTreeSet<(Tag, TurnIx)>,
    /// The present round.
    pub round: Tag,
    /// Turns that belong here, wherever they stand.
    pub turns: u32,
}
