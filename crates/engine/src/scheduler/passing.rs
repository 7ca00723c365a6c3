//! Offers that go to somebody else: because the turn is served something else, or is parked.

use super::Scheduler;
use super::limits::{GateIx, LimitIx};
use super::turn::{GroupState, LaneKey, TurnIx};
use crate::queue::QueueIx;

/// Offers of a turn that are passed on when it is served something else, in one step.
const PASSED_AT_ONCE: usize = 4;
/// Offers of a parked turn that are withdrawn in one step.
const WITHDRAWN_AT_ONCE: usize = 16;

impl Scheduler {
    /// A turn was served a lane that waits at this gate, or at none: what else it is offered passes on
    /// to those who wait behind it.
    pub(super) fn pass_on(&mut self, turn: TurnIx, served: Option<GateIx>) {
        let is = self.turns.get(turn);
        if is.offers.is_empty() {
            return;
        }
        let queue = is.queue;
        let after = is.passed_to.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        let behind = is.offers.range((after, std::ops::Bound::Unbounded)).take(PASSED_AT_ONCE);
        let behind: Vec<(LaneKey, GateIx)> = behind.copied().collect();
        let more = behind.len() == PASSED_AT_ONCE;
        self.turns.get_mut(turn).passed_to = behind.last().copied().filter(|_| more);
        for (_, gate) in behind {
            let limit = self.limits.gate(gate).limit;
            if Some(gate) == served || !self.is_wanted(limit, queue, turn) {
                continue;
            }
            self.steps += 1;
            self.take_offer_back(turn, gate);
            if let Some(group) = self.turns.get_mut(turn).groups.get_mut(&gate) {
                group.state = GroupState::Passed;
            }
            self.lot(limit, queue).passed.push((gate, turn));
            self.refresh(limit, queue);
        }
    }

    /// Whether another tenant of the same level waits for an offer that this turn may have.
    fn is_wanted(&mut self, limit: LimitIx, queue: QueueIx, turn: TurnIx) -> bool {
        let Some((_, _, first)) = self.lot(limit, queue).first() else { return false };
        let (own, other) = (self.turns.get(turn), self.turns.get(first));
        own.level == other.level && own.tenant != other.tenant
    }

    /// Whether a group that was passed over is of a higher level than this.
    pub(super) fn was_passed_above(&self, limit: LimitIx, queue: QueueIx, level: i32) -> bool {
        let Some(lot) = self.limits.limit(limit).lots.get(&queue) else { return false };
        lot.passed.iter().any(|(_, turn)| self.turns.get(*turn).level > level)
    }

    /// Groups whose turns were served something else may be offered a start again.
    pub(super) fn bring_passed_back(&mut self, limit: LimitIx, queue: QueueIx) {
        for (gate, turn) in std::mem::take(&mut self.lot(limit, queue).passed) {
            self.steps += 1;
            let Some(rank) = self.present_rank(turn, gate) else { continue };
            if let Some(group) = self.turns.get_mut(turn).groups.get_mut(&gate) {
                (group.state, group.rank) = (GroupState::Waiting, rank);
            }
            self.lot(limit, queue).add(rank, gate, turn);
        }
    }

    pub(super) fn set_aside(&mut self, turn: TurnIx, gate: GateIx) {
        self.withdraw(turn, gate);
        let is = self.turns.get_mut(turn);
        is.aside.push(gate);
        if let Some(group) = is.groups.get_mut(&gate) {
            group.state = GroupState::Aside;
        }
    }

    /// A parked turn keeps no offer that others wait for. A bounded number is withdrawn at a time;
    /// whether there may be more.
    pub(super) fn withdraw_offers(&mut self, turn: TurnIx) -> bool {
        if !self.turns.contains(turn) || !self.turns.get(turn).parked {
            return false;
        }
        let is = self.turns.get(turn);
        let queue = is.queue;
        let offered: Vec<GateIx> =
            is.offers.iter().take(WITHDRAWN_AT_ONCE).map(|(_, gate)| *gate).collect();
        for &gate in &offered {
            self.steps += 1;
            let limit = self.limits.gate(gate).limit;
            self.set_aside(turn, gate);
            self.refresh(limit, queue);
        }
        offered.len() == WITHDRAWN_AT_ONCE
    }

    /// A turn is not parked any more: its groups join their lots again.
    pub(super) fn join_lots_again(&mut self, turn: TurnIx) {
        for gate in std::mem::take(&mut self.turns.get_mut(turn).aside) {
            self.steps += 1;
            let Some(rank) = self.present_rank(turn, gate) else { continue };
            let is = self.turns.get_mut(turn);
            let queue = is.queue;
            if let Some(group) = is.groups.get_mut(&gate) {
                (group.state, group.rank) = (GroupState::Waiting, rank);
            }
            let limit = self.limits.gate(gate).limit;
            self.lot(limit, queue).add(rank, gate, turn);
            self.refresh(limit, queue);
        }
    }
}
