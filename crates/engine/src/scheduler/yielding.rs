//! Yielding: offers of a turn that was served something else, or is parked, go to others.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use super::Scheduler;
use super::limits::{GateIx, GroupKey, LimitIx};
use super::turn::TurnIx;
use crate::queue::QueueIx;

/// Offers of a turn that are yielded when it is served something else.
const YIELDED_AT_ONCE: usize = 4;
/// Keys handled in one step: offers withdrawn from a parked turn, or lines rejoined by one that is no
/// longer parked.
const WITHDRAWN_AT_ONCE: usize = 16;
/// Keys and turns that one command, and each pick, may visit for repairs. A turn may have thousands of
/// keys.
const REPAIR_BUDGET: usize = 64;

impl Scheduler {
    /// Yields other offers of a turn that was served through the key `served`, or through none, if
    /// other tenants wait for them.
    pub(super) fn yield_offers(&mut self, turn: TurnIx, served: Option<LimitIx>) {
        let turn_state = self.turns.get(turn);
        if turn_state.offers.is_empty() {
            return;
        }
        let queue = turn_state.queue;
        let after = turn_state.yielded_up_to.map_or(Unbounded, Excluded);
        let offers = turn_state.offers.range((after, Unbounded)).take(YIELDED_AT_ONCE);
        let offers: Vec<GroupKey> = offers.map(|(group, ())| *group).collect();
        let more = offers.len() == YIELDED_AT_ONCE;
        self.turns.get_mut(turn).yielded_up_to = offers.last().copied().filter(|_| more);
        for (_, gate) in offers {
            let limit = self.limits.gate(gate).limit;
            if Some(limit) == served || !self.is_wanted(limit, queue, turn) {
                continue;
            }
            self.steps += 1;
            self.waitlist(limit, queue).yield_offer(turn);
            self.update_offer(limit, turn);
            self.refresh(limit, queue);
        }
    }

    /// Whether another tenant of the same level waits for an offer that this turn has.
    fn is_wanted(&mut self, limit: LimitIx, queue: QueueIx, turn: TurnIx) -> bool {
        let Some(first) = self.waitlist(limit, queue).first() else { return false };
        let turn_state = self.turns.get(turn);
        turn_state.level == first.rank.level.0 && turn_state.tenant != first.tenant
    }

    /// Takes a parked turn out of line at a key: among the candidates, or at a gate.
    pub(super) fn park_in_line(&mut self, limit: LimitIx, turn: TurnIx, gate: Option<GateIx>) {
        let turn_state = self.turns.get_mut(turn);
        turn_state.parked_at.insert(limit);
        let queue = turn_state.queue;
        self.waitlist(limit, queue).park_in_line(turn, gate);
        self.update_offer(limit, turn);
    }

    /// Withdraws up to [`WITHDRAWN_AT_ONCE`] offers of a parked turn. Returns how many.
    fn withdraw_offers(&mut self, turn: TurnIx) -> usize {
        if !self.turns.contains(turn) || !self.turns.get(turn).parked {
            return 0;
        }
        let turn_state = self.turns.get(turn);
        let queue = turn_state.queue;
        let offered = turn_state.offered_at.keys().take(WITHDRAWN_AT_ONCE);
        let offered: Vec<LimitIx> = offered.copied().collect();
        for &limit in &offered {
            self.steps += 1;
            self.park_in_line(limit, turn, None);
            self.refresh(limit, queue);
        }
        offered.len()
    }

    /// Called before each command and each pick.
    pub fn renew_repair_budget(&mut self) {
        self.repair_budget = REPAIR_BUDGET;
    }

    /// Whether parked turns have offers to withdraw, or other turns have lines to rejoin.
    pub fn has_repairs(&self) -> bool {
        !self.to_withdraw.is_empty() || !self.to_rejoin.is_empty()
    }

    pub(super) fn may_repair(&self) -> bool {
        self.repair_budget > 0 && self.has_repairs()
    }

    /// Withdraws the offers of parked turns, before a turn is chosen.
    pub(super) fn withdraw_from_parked(&mut self) {
        while !self.to_withdraw.is_empty() && self.repair_one() {}
    }

    /// Withdraws offers of one parked turn, or lets one turn rejoin its lines. Returns whether there
    /// was something to do and budget for it.
    pub(super) fn repair_one(&mut self) -> bool {
        if !self.may_repair() {
            return false;
        }
        let mut keys = 0;
        if let Some(&turn) = self.to_withdraw.front() {
            keys = self.withdraw_offers(turn);
            if keys < WITHDRAWN_AT_ONCE {
                self.to_withdraw.pop_front();
            }
        } else if let Some(turn) = self.to_rejoin.pop_front() {
            let may_rejoin = self.turns.contains(turn) && !self.turns.get(turn).parked;
            if may_rejoin {
                keys = self.rejoin_lines(turn);
                self.place_turn(turn);
            }
        }
        self.repair_budget = self.repair_budget.saturating_sub(keys.max(1));
        true
    }

    /// Lets a turn that is no longer parked rejoin its lines, at up to [`WITHDRAWN_AT_ONCE`] keys.
    /// Returns at how many.
    pub(super) fn rejoin_lines(&mut self, turn: TurnIx) -> usize {
        let queue = self.turns.get(turn).queue;
        for joined in 0..WITHDRAWN_AT_ONCE {
            let Some(limit) = self.turns.get_mut(turn).parked_at.pop_first() else { return joined };
            self.steps += 1;
            if !self.limits.exists(limit) {
                continue;
            }
            let gates = self.gates_of_turn(turn, limit);
            let list = self.waitlist(limit, queue);
            list.rejoin(turn, gates.iter().copied());
            let asleep = gates.into_iter().filter_map(|gate| list.bucket_of(gate));
            let asleep: BTreeSet<_> = asleep.collect();
            asleep.into_iter().for_each(|bucket| self.resubscribe(limit, queue, bucket));
            self.refresh(limit, queue);
        }
        if self.turns.contains(turn) && !self.turns.get(turn).parked_at.is_empty() {
            self.to_rejoin.push_back(turn);
        }
        WITHDRAWN_AT_ONCE
    }

    /// The gates of a limit at which a turn has groups.
    fn gates_of_turn(&self, turn: TurnIx, limit: LimitIx) -> Vec<GateIx> {
        let (groups, gates) = (&self.turns.get(turn).groups, &self.limits.limit(limit).gates);
        if gates.len() <= groups.len() {
            return gates.iter().copied().filter(|gate| groups.contains(gate)).collect();
        }
        let turn_gates = groups.keys().copied();
        turn_gates.filter(|gate| self.limits.gate(*gate).limit == limit).collect()
    }
}
