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

/// Lanes are let in and sent back by turn: all lanes of one tenant at one level that wait for this
/// gate go together, so that one with many lanes gains nothing by it.
#[derive(Debug, Default)]
pub(crate) struct Lot {
    /// Turns in their ring with lanes of this gate.
    nominees: BTreeMap<TurnIx, Rank>,
    by_rank: BTreeSet<Rank>,
    /// Lanes that wait, and what holds them if that was told.
    parked: BTreeMap<TurnIx, BTreeMap<ClassId, Option<Told>>>,
    order: BTreeSet<Rank>,
    ranks: BTreeMap<TurnIx, Rank>,
}

impl Lot {
    pub fn is_empty(&self) -> bool {
        self.parked.is_empty() && self.nominees.is_empty()
    }

    pub fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    pub fn nominees(&self) -> usize {
        self.nominees.len()
    }

    pub fn is_nominee(&self, turn: TurnIx) -> bool {
        self.nominees.contains_key(&turn)
    }

    /// Whether that is news.
    pub fn nominate(&mut self, rank: Rank) -> bool {
        let old = self.nominees.insert(rank.2, rank);
        if old == Some(rank) {
            return false;
        }
        old.map(|old| self.by_rank.remove(&old));
        self.by_rank.insert(rank)
    }

    pub fn dismiss(&mut self, turn: TurnIx) {
        if let Some(rank) = self.nominees.remove(&turn) {
            self.by_rank.remove(&rank);
        }
    }

    /// The nominee that would be served last.
    pub fn worst(&self) -> Option<Rank> {
        self.by_rank.last().copied()
    }

    pub fn park(&mut self, rank: Rank, class: ClassId, told: Option<Told>) {
        let turn = rank.2;
        self.parked.entry(turn).or_default().insert(class, told);
        if let std::collections::btree_map::Entry::Vacant(entry) = self.ranks.entry(turn) {
            entry.insert(rank);
            self.order.insert(rank);
        }
    }

    /// One lane leaves. Whether it was the last of its turn.
    pub fn unpark(&mut self, turn: TurnIx, class: ClassId) -> bool {
        let Some(group) = self.parked.get_mut(&turn) else { return false };
        group.remove(&class);
        let last = group.is_empty();
        if last {
            self.take(turn);
        }
        last
    }

    /// The group that is next, given what the turns' tags are now.
    pub fn next(&mut self, current: impl Fn(TurnIx) -> Order) -> Option<TurnIx> {
        loop {
            let &rank = self.order.first()?;
            let (level, known, turn) = rank;
            let order = current(turn);
            if order <= known {
                return Some(turn);
            }
            self.order.remove(&rank);
            let anew = (level, order, turn);
            self.order.insert(anew);
            self.ranks.insert(turn, anew);
        }
    }

    /// Takes a whole group out.
    pub fn take(&mut self, turn: TurnIx) -> BTreeMap<ClassId, Option<Told>> {
        if let Some(rank) = self.ranks.remove(&turn) {
            self.order.remove(&rank);
        }
        self.parked.remove(&turn).unwrap_or_default()
    }
}
