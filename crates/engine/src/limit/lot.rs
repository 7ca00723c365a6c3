//! Where the lanes of one queue wait for one gate, in the order in which they will be let in.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rota_model::ClassId;

use super::Strategy;
use crate::sched::{Order, TurnIx};

/// What was said when a lane began to wait, and when that was, in monotonic time.
pub(crate) type Told = (Strategy, u64);

/// The order of turns: the higher level first, there the one that is due first.
pub(crate) type Rank = (Reverse<i32>, Order, TurnIx);

/// Lanes that wait, and what holds them if that was told.
pub(crate) type Lanes = BTreeMap<ClassId, Option<Told>>;

/// Lanes are let in by turn: all lanes of one tenant at one level that wait for this gate go
/// together, so that one with many lanes gains nothing by it.
#[derive(Debug, Default)]
pub(crate) struct Lot {
    /// Lanes of this gate that stand in their turns.
    pub inside: u64,
    parked: BTreeMap<TurnIx, Group>,
    order: BTreeSet<Rank>,
    /// By which rank the gate stands in the queue's line, while it is open.
    pub in_line: Option<Rank>,
}

#[derive(Debug)]
struct Group {
    rank: Rank,
    lanes: Lanes,
}

impl Lot {
    pub fn is_empty(&self) -> bool {
        self.inside == 0 && self.parked.is_empty()
    }

    /// More than one turn's lanes are here, or may be.
    pub fn is_shared(&self) -> bool {
        self.parked.len() as u64 + self.inside > 1
    }

    pub fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    pub fn park(&mut self, rank: Rank, class: ClassId, told: Option<Told>) {
        let group = self.parked.entry(rank.2).or_insert_with(|| {
            self.order.insert(rank);
            Group { rank, lanes: Lanes::new() }
        });
        group.lanes.insert(class, told);
        if rank < group.rank {
            self.order.remove(&group.rank);
            self.order.insert(rank);
            group.rank = rank;
        }
    }

    /// One lane leaves. Whether it was the last of its turn.
    pub fn unpark(&mut self, turn: TurnIx, class: ClassId) -> bool {
        let Some(group) = self.parked.get_mut(&turn) else { return false };
        group.lanes.remove(&class);
        let last = group.lanes.is_empty();
        if last {
            self.take(turn);
        }
        last
    }

    /// The lanes of one turn that wait here.
    pub fn waiting(&self, turn: TurnIx) -> impl Iterator<Item = ClassId> {
        self.parked.get(&turn).into_iter().flat_map(|group| group.lanes.keys().copied())
    }

    /// The group that is next, by what is known of it here.
    pub fn first(&self) -> Option<(Rank, &Lanes)> {
        let rank = self.order.first()?;
        Some((*rank, &self.parked.get(&rank.2)?.lanes))
    }

    /// A group gives up its place for a later one.
    pub fn put_back(&mut self, turn: TurnIx, order: Order) {
        if let Some(group) = self.parked.get_mut(&turn)
            && group.rank.1 < order
        {
            self.order.remove(&group.rank);
            group.rank.1 = order;
            self.order.insert(group.rank);
        }
    }

    /// Takes a whole group out.
    pub fn take(&mut self, turn: TurnIx) -> Lanes {
        let Some(group) = self.parked.remove(&turn) else { return Lanes::new() };
        self.order.remove(&group.rank);
        group.lanes
    }
}
