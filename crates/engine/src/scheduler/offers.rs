//! Offers: which turns of a queue are offered a start of a key.

use super::Scheduler;
use super::limits::{Closed, FirstInLine, GateIx, LimitIx, Rank};
use super::notice::Notice;
use super::turn::TurnIx;
use crate::queue::QueueIx;

impl Scheduler {
    /// Brings a waitlist up to date: offers starts to the first turns in the key's order, as many as
    /// may start, and puts turns whose gate is closed to sleep.
    pub(super) fn refresh(&mut self, limit: LimitIx, queue: QueueIx) {
        while self.refresh_once(limit, queue) {
            self.steps += 1;
        }
        let waitlists = &mut self.limits.limit_mut(limit).waitlists;
        let Some(list) = waitlists.get_mut(&queue) else { return };
        if list.is_empty() {
            if list.contended {
                self.queues[queue.0 as usize].contended.remove(&limit);
            }
            waitlists.remove(&queue);
        } else if !list.contended && list.first().is_some() {
            list.contended = true;
            self.queues[queue.0 as usize].contended.insert(limit);
        }
    }

    /// Does one step of `refresh`. Returns whether there may be more to do.
    fn refresh_once(&mut self, limit: LimitIx, queue: QueueIx) -> bool {
        let list = self.waitlist(limit, queue);
        if list.deferred {
            return false;
        }
        let Some(first) = list.first() else {
            return list.offers() == 0 && list.end_yields();
        };
        if list.yielded_above(first.rank.level) {
            return list.end_yields();
        }
        let FirstInLine { rank, turn, group: (lane, gate), is_candidate, .. } = first;
        let current_rank = self.rank_of(turn, limit, lane);
        if current_rank > rank {
            self.waitlist(limit, queue).set_rank(turn, gate, is_candidate, current_rank);
            return true;
        }
        if self.must_park(turn) {
            self.place_turn(turn);
            self.park_in_line(limit, turn, (!is_candidate).then_some(gate));
            return true;
        }
        let opening = self.limits.opening(gate, self.now);
        if let Some(closed) = opening.closed {
            self.close_group(turn, gate, &closed, false);
            return true;
        }
        let list = self.waitlist(limit, queue);
        if list.offers() < opening.free || self.may_replace(first) {
            self.offer(first);
            return true;
        }
        self.make_way(limit, queue, rank)
    }

    /// Whether a turn has an offer that it can use for an older job of another group.
    fn may_replace(&mut self, first: FirstInLine) -> bool {
        let FirstInLine { turn, group, .. } = first;
        let turn_state = self.turns.get(turn);
        let limit = self.limits.gate(group.1).limit;
        turn_state.offered_at.get(&limit).is_some_and(|offered| group < *offered)
    }

    /// All open starts are offered: the turn with the last rank loses its offer if `rank` comes before
    /// it. Returns whether it did.
    fn make_way(&mut self, limit: LimitIx, queue: QueueIx, rank: Rank) -> bool {
        let list = self.waitlist(limit, queue);
        let Some((old_rank, last)) = list.last_offered() else { return false };
        let Some((lane, gate)) = list.offered_group(last) else { return false };
        let current_rank = self.rank_of(last, limit, lane);
        if current_rank > old_rank {
            self.waitlist(limit, queue).set_rank(last, gate, true, current_rank);
        }
        if rank < current_rank {
            self.retract(limit, last);
        }
        rank < current_rank
    }

    /// Makes a group whose gate is open a candidate's, and offers its turn a start unless it has an
    /// offer.
    fn offer(&mut self, first: FirstInLine) {
        let FirstInLine { turn, group: (_, gate), .. } = first;
        let turn_state = self.turns.get_mut(turn);
        let queue = turn_state.queue;
        if let Some(group) = turn_state.groups.get_mut(&gate) {
            group.is_candidate = true;
        }
        let limit = self.limits.gate(gate).limit;
        self.waitlist(limit, queue).offer(first);
        self.update_offer(limit, turn);
        self.place_turn(turn);
    }

    /// Takes back a turn's offer. The turn waits in line again.
    pub(super) fn retract(&mut self, limit: LimitIx, turn: TurnIx) {
        let queue = self.turns.get(turn).queue;
        self.waitlist(limit, queue).retract(turn);
        self.update_offer(limit, turn);
        self.place_turn(turn);
    }

    /// Updates a turn's copy of its offer at a key.
    pub(super) fn update_offer(&mut self, limit: LimitIx, turn: TurnIx) {
        if self.copy_offer(limit, turn) {
            self.deferrals.offers_changed(limit);
        }
    }

    /// Copies a turn's offer at a key to the turn. Returns whether it has changed.
    pub(super) fn copy_offer(&mut self, limit: LimitIx, turn: TurnIx) -> bool {
        let turn_state = self.turns.get_mut(turn);
        let list = self.limits.limit(limit).waitlists.get(&turn_state.queue);
        let wanted = list.and_then(|list| list.offered_group(turn));
        let current = turn_state.offered_at.get(&limit).copied();
        if current == wanted {
            return false;
        }
        current.map(|group| turn_state.offers.remove(&group));
        let Some((lane, gate)) = wanted else {
            turn_state.offered_at.remove(&limit);
            return true;
        };
        turn_state.offers.insert((lane, gate));
        turn_state.offered_at.put(limit, (lane, gate));
        let notified = turn_state.groups.get_mut(&gate).and_then(|group| group.notified.take());
        if let Some(notified) = notified {
            let (_, head, class) = lane;
            self.notices.push(Notice::LimitReleased { limit, class, head, notified });
        }
        true
    }

    /// Whether an offer may be used at the pick. The gate may have closed since, or another turn may
    /// come first.
    pub(super) fn confirm_offer(&mut self, turn: TurnIx, gate: GateIx) -> bool {
        let turn_state = self.turns.get(turn);
        let (queue, limit) = (turn_state.queue, self.limits.gate(gate).limit);
        let Some(lane) = turn_state.groups.get(&gate).map(|group| group.first()) else {
            return false;
        };
        let opening = self.limits.opening(gate, self.now);
        if let Some(closed) = opening.closed {
            self.close_group(turn, gate, &closed, false);
            self.refresh(limit, queue);
            self.place_turn(turn);
            return false;
        }
        let rank = self.rank_of(turn, limit, lane);
        let list = self.waitlist(limit, queue);
        list.set_rank(turn, gate, true, rank);
        if list.has_rival(turn, rank) {
            self.refresh(limit, queue);
        }
        while let list = self.waitlist(limit, queue)
            && list.offers() > opening.free
            && let Some((_, last)) = list.last_offered()
        {
            self.steps += 1;
            self.retract(limit, last);
        }
        self.turns.get(turn).offers.contains(&(lane, gate))
    }

    /// Reports that a group's gate is closed, once until the group is offered a start.
    pub(super) fn notify_closed(&mut self, turn: TurnIx, gate: GateIx, closed: &Closed) {
        let (mono, limit) = (self.now.mono, self.limits.gate(gate).limit);
        let Some(group) = self.turns.get_mut(turn).groups.get_mut(&gate) else { return };
        if group.notified.is_none() {
            group.notified = Some((closed.kind, mono));
            let (_, _, class) = group.first();
            self.notices.push(Notice::LimitExceeded { limit, class, closed: *closed });
        }
    }
}
