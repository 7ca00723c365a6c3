//! Who is offered a start of a key, in one queue.

use super::Scheduler;
use super::limits::{Bucket, Closed, GateIx, LimitIx, Rank};
use super::notice::Notice;
use super::turn::{GroupState, TurnIx};
use crate::queue::QueueIx;

/// Groups of a lot that are given their present ranks when it is refreshed or woken. A tenant whose jobs
/// carry more sets of numbers than this may come up once too early for it.
pub(super) const RANKED_AT_ONCE: usize = 16;

impl Scheduler {
    fn offer(&mut self, rank: Rank, gate: GateIx, turn: TurnIx) {
        let queue = self.turns.get(turn).queue;
        let limit = self.limits.gate(gate).limit;
        self.lot(limit, queue).offer(rank, gate, turn);
        let is = self.turns.get_mut(turn);
        let Some(group) = is.groups.get_mut(&gate) else { return };
        group.state = GroupState::Offered;
        let told = group.told.take();
        let first = group.lanes.first().copied();
        first.map(|first| is.offers.insert((first, gate)));
        if let (Some(told), Some((_, head, class))) = (told, first) {
            self.notices.push(Notice::LimitReleased { limit, class, head, told });
        }
        self.reseat(turn);
    }

    /// The group has no offer any more, and is in no line either.
    pub(super) fn take_offer_back(&mut self, turn: TurnIx, gate: GateIx) {
        let is = self.turns.get_mut(turn);
        let queue = is.queue;
        let Some(group) = is.groups.get(&gate) else { return };
        let rank = group.rank;
        group.lanes.first().map(|first| is.offers.remove(&(*first, gate)));
        let limit = self.limits.gate(gate).limit;
        self.lot(limit, queue).take_offer_back(rank, gate, turn);
    }

    /// The group waits in line again, under the rank that it has.
    pub(super) fn back_in_line(&mut self, turn: TurnIx, gate: GateIx) {
        self.withdraw(turn, gate);
        let is = self.turns.get_mut(turn);
        let queue = is.queue;
        let Some(group) = is.groups.get_mut(&gate) else { return };
        group.state = GroupState::Waiting;
        let rank = group.rank;
        let limit = self.limits.gate(gate).limit;
        self.lot(limit, queue).add(rank, gate, turn);
        self.reseat(turn);
    }

    /// Gives the first in the key's order their offers, as many as may start, and lets the lot sleep
    /// where none may.
    pub(super) fn refresh(&mut self, limit: LimitIx, queue: QueueIx) {
        self.give_offers(limit, queue);
        self.resubscribe(limit, queue);
    }

    fn give_offers(&mut self, limit: LimitIx, queue: QueueIx) {
        let mut ranked = 0;
        while self.refresh_once(limit, queue, &mut ranked) {
            self.steps += 1;
        }
    }

    /// The same when a lot was woken: what else the bucket closes is looked at when the offer that may
    /// follow has been used.
    pub(super) fn refresh_waking(&mut self, limit: LimitIx, bucket: Bucket, queue: QueueIx) {
        self.give_offers(limit, queue);
        self.lot(limit, queue).doze(bucket);
        self.resubscribe(limit, queue);
    }

    /// Whether there may be more to do.
    fn refresh_once(&mut self, limit: LimitIx, queue: QueueIx, ranked: &mut usize) -> bool {
        if self.look_at_dozing(limit, queue) {
            return true;
        }
        let lot = self.lot(limit, queue);
        let Some((rank, gate, turn)) = lot.first() else {
            if !lot.has_offered() && !lot.passed.is_empty() {
                self.bring_passed_back(limit, queue);
                return true;
            }
            return false;
        };
        let has_passed = !lot.passed.is_empty();
        let last = lot.last_offered();
        if has_passed && self.was_passed_above(limit, queue, rank.0.0) {
            self.bring_passed_back(limit, queue);
            return true;
        }
        if *ranked < RANKED_AT_ONCE && self.present_rank(turn, gate).is_some_and(|now| now > rank) {
            *ranked += 1;
            self.re_rank_waiting(turn, gate);
            return true;
        }
        if self.turns.get(turn).parked {
            self.set_aside(turn, gate);
            return true;
        }
        let opening = self.limits.opening(gate, self.now);
        if let Some(closed) = opening.closed {
            self.close_gate(limit, queue, gate, &closed);
            self.tell_closed(turn, gate, &closed);
            return true;
        }
        if self.lot(limit, queue).may_offer(turn, opening.free) {
            self.offer(rank, gate, turn);
            return true;
        }
        let Some((last_rank, last_gate, last_turn)) = last else { return false };
        let stale = self.present_rank(last_turn, last_gate).is_some_and(|now| now > last_rank);
        if stale && *ranked < RANKED_AT_ONCE {
            *ranked += 1;
            self.back_in_line(last_turn, last_gate);
            self.re_rank_waiting(last_turn, last_gate);
            return true;
        }
        if rank < last_rank {
            self.back_in_line(last_turn, last_gate);
        }
        rank < last_rank
    }

    /// A group behind a gate that was left alone may come before the next that would be offered a
    /// start, and its gate may be open by now. Whether that is so.
    fn look_at_dozing(&mut self, limit: LimitIx, queue: QueueIx) -> bool {
        let lot = self.lot(limit, queue);
        let Some((rank, gate, bucket)) = lot.first_dozing() else { return false };
        let before = lot.first().is_none_or(|(first, ..)| rank < first);
        let (offered, last) = (lot.offered_turns(), lot.last_offered().map(|one| one.0));
        let free = self.limits.opening(gate, self.now).free;
        if !before || free == 0 || offered >= free && last.is_some_and(|last| last < rank) {
            return false;
        }
        let lot = self.lot(limit, queue);
        lot.stop_dozing(bucket);
        lot.reopen_first(bucket);
        self.to_wake.push((limit, bucket));
        true
    }

    /// Whether an offered group may start after all: its gate may have closed since, or another tenant
    /// may have come before it.
    pub(super) fn confirm_offer(&mut self, turn: TurnIx, gate: GateIx) -> bool {
        let queue = self.turns.get(turn).queue;
        let limit = self.limits.gate(gate).limit;
        let opening = self.limits.opening(gate, self.now);
        if let Some(closed) = opening.closed {
            self.back_in_line(turn, gate);
            self.close_gate(limit, queue, gate, &closed);
            self.tell_closed(turn, gate, &closed);
            self.refresh(limit, queue);
            return false;
        }
        let Some(group) = self.turns.get(turn).groups.get(&gate) else { return false };
        let (known, present) = (group.rank, self.present_rank(turn, gate));
        if let Some(present) = present.filter(|present| *present > known)
            && self.lot(limit, queue).has_rival(turn, present)
        {
            self.rank_anew(turn, gate);
            return false;
        }
        while let lot = self.lot(limit, queue)
            && lot.offered_turns() > opening.free
            && let Some((_, other_gate, other)) = lot.last_offered()
        {
            self.steps += 1;
            self.back_in_line(other, other_gate);
            if other == turn && other_gate == gate {
                return false;
            }
        }
        true
    }

    /// A group would start and its gate is closed. Said once until it may start again.
    pub(super) fn tell_closed(&mut self, turn: TurnIx, gate: GateIx, closed: &Closed) {
        let (mono, limit) = (self.now.mono, self.limits.gate(gate).limit);
        let Some(group) = self.turns.get_mut(turn).groups.get_mut(&gate) else { return };
        if group.told.is_none()
            && let Some(&(_, _, class)) = group.lanes.first()
        {
            group.told = Some((closed.strategy, mono));
            self.notices.push(Notice::LimitExceeded { limit, class, closed: *closed });
        }
    }
}
