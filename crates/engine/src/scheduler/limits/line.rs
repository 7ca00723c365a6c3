//! A line: turns in the order of their ranks, each with some of its groups.

use super::{GroupKey, Rank};
use crate::scheduler::small_map::SmallMap;
use crate::scheduler::turn::TurnIx;
use crate::tenant::TenantIx;

/// Turns with groups, ordered by rank.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// The turns in state `InLine`.
    order: SmallMap<(Rank, TurnIx)>,
    turns: SmallMap<TurnIx, LineEntry>,
}

/// A turn in a line.
#[derive(Debug)]
pub(super) struct LineEntry {
    tenant: TenantIx,
    pub rank: Rank,
    state: State,
    groups: SmallMap<GroupKey>,
}

/// Where a turn stands in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    InLine,
    Offered,
    Yielded,
    /// The tenant is at its cap, or paused.
    Parked,
}

impl Line {
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Whether exactly one turn has groups here.
    pub fn is_alone(&self) -> bool {
        self.turns.len() == 1
    }

    pub fn first(&self) -> Option<(Rank, TurnIx, TenantIx)> {
        let &(rank, turn) = self.order.first()?;
        Some((rank, turn, self.turns.get(&turn)?.tenant))
    }

    pub fn first_group(&self, turn: TurnIx) -> Option<GroupKey> {
        self.turns.get(&turn)?.groups.first().copied()
    }

    /// Turns in state `InLine`, each with its first group.
    pub fn in_line(&self) -> impl Iterator<Item = (TurnIx, GroupKey)> {
        self.order.keys().filter_map(|(_, turn)| Some((*turn, self.first_group(*turn)?)))
    }

    pub fn rank(&self, turn: TurnIx) -> Option<Rank> {
        self.turns.get(&turn).map(|entry| entry.rank)
    }

    pub fn state(&self, turn: TurnIx) -> Option<State> {
        self.turns.get(&turn).map(|entry| entry.state)
    }

    /// Adds a group. A turn that is here already keeps its rank and state. Returns whether the turn is
    /// new.
    pub fn insert(
        &mut self,
        turn: TurnIx,
        tenant: TenantIx,
        group: GroupKey,
        rank: Rank,
        state: State,
    ) -> bool {
        if let Some(entry) = self.turns.get_mut(&turn) {
            entry.groups.insert(group);
            return false;
        }
        let groups = SmallMap::One(Some((group, ())));
        self.turns.put(turn, LineEntry { tenant, rank, state, groups });
        if state == State::InLine {
            self.order.insert((rank, turn));
        }
        true
    }

    /// Removes a group. Returns the turn's entry if this was its last group.
    pub fn remove(&mut self, turn: TurnIx, group: GroupKey) -> Option<LineEntry> {
        let entry = self.turns.get_mut(&turn)?;
        entry.groups.remove(&group);
        if !entry.groups.is_empty() {
            return None;
        }
        let entry = self.turns.remove(&turn)?;
        if entry.state == State::InLine {
            self.order.remove(&(entry.rank, turn));
        }
        Some(entry)
    }

    /// Replaces a group's key. Returns whether it is now the turn's first group and `rank` is smaller
    /// than the turn's rank.
    pub fn rekey(&mut self, turn: TurnIx, old: GroupKey, new: GroupKey, rank: Rank) -> bool {
        let Some(entry) = self.turns.get_mut(&turn) else { return false };
        entry.groups.remove(&old);
        entry.groups.insert(new);
        entry.groups.first() == Some(&new) && rank < entry.rank
    }

    /// Sets a turn's rank and returns the old one.
    pub fn set_rank(&mut self, turn: TurnIx, rank: Rank) -> Option<Rank> {
        let entry = self.turns.get_mut(&turn)?;
        let old = std::mem::replace(&mut entry.rank, rank);
        if old != rank && self.order.remove(&(old, turn)).is_some() {
            self.order.insert((rank, turn));
        }
        Some(old)
    }

    pub fn set_state(&mut self, turn: TurnIx, state: State) {
        let Some(entry) = self.turns.get_mut(&turn) else { return };
        let old = std::mem::replace(&mut entry.state, state);
        if old == State::InLine {
            self.order.remove(&(entry.rank, turn));
        }
        if state == State::InLine {
            self.order.insert((entry.rank, turn));
        }
    }
}
