//! Groups of lanes at gates: joining and leaving them, and who is offered a start.

use std::cmp::Reverse;

use rota_model::ClassId;

use super::Scheduler;
use super::limits::{Bucket, Closed, GateIx, LimitIx, Lot, Rank, Sleeper};
use super::notice::Notice;
use super::tag::{Tag, fifo_order};
use super::turn::{Group, GroupState, LaneKey, TurnIx};
use crate::queue::QueueIx;

/// Offers of a turn that are passed on when it is served something else, in one step.
const PASSED_AT_ONCE: usize = 4;
/// Groups of a lot that are given their present ranks when it is woken. A tenant whose jobs carry more
/// sets of numbers than this may come up once too early for it.
const RANKED_AT_ONCE: usize = 16;
/// Offers of a parked turn that are withdrawn in one step.
const WITHDRAWN_AT_ONCE: usize = 16;

impl Scheduler {
    /// A lane joins the group of its turn at this gate.
    pub(super) fn join_group(&mut self, turn: TurnIx, gate: GateIx, key: LaneKey) {
        if let Some(group) = self.turns.get_mut(turn).groups.get_mut(&gate) {
            let was = group.lanes.first().copied();
            group.lanes.insert(key);
            self.first_lane_moved(turn, gate, was);
            return;
        }
        let limit = self.limits.gate(gate).limit;
        let is = self.turns.get(turn);
        let (queue, level, tenant) = (is.queue, is.level, is.tenant);
        self.limits.limit_mut(limit).order.join(level, tenant);
        let rank = self.rank_of(turn, gate, key);
        let group = Group {
            lanes: [key].into(),
            rank,
            state: GroupState::Waiting,
            own_asleep: None,
            told: None,
        };
        let is = self.turns.get_mut(turn);
        is.groups.insert(gate, group);
        is.own.insert((key, gate));
        self.lot(limit, queue).add(rank, gate, turn);
        if let Some(closed) = self.limits.opening(gate, self.now).closed {
            self.close_gate(limit, queue, gate, &closed);
            self.tell_closed(turn, gate, &closed);
        }
        self.refresh(limit, queue);
        self.own_jobs_came(turn);
    }

    /// A lane leaves the group that it waits in.
    pub(super) fn leave_group(&mut self, turn: TurnIx, gate: GateIx, key: LaneKey) {
        let Some(group) = self.turns.get_mut(turn).groups.get_mut(&gate) else { return };
        if group.lanes.len() > 1 {
            let was = group.lanes.first().copied();
            group.lanes.remove(&key);
            self.first_lane_moved(turn, gate, was);
            return;
        }
        self.withdraw(turn, gate);
        let is = self.turns.get_mut(turn);
        let (queue, level, tenant) = (is.queue, is.level, is.tenant);
        let group = is.groups.remove(&gate);
        is.own.remove(&(key, gate));
        let limit = self.limits.gate(gate).limit;
        if let Some((bucket, rank)) = group.and_then(|group| group.own_asleep) {
            self.wake_up(limit, bucket, rank, Sleeper::Own(turn, gate));
        }
        self.limits.limit_mut(limit).order.leave(level, tenant);
        self.refresh(limit, queue);
    }

    /// The first lane of a group is another one, or has another head.
    pub(super) fn first_lane_moved(&mut self, turn: TurnIx, gate: GateIx, was: Option<LaneKey>) {
        let is = self.turns.get_mut(turn);
        let Some(group) = is.groups.get(&gate) else { return };
        let first = group.lanes.first().copied();
        if first == was {
            return;
        }
        for set in [&mut is.own, &mut is.offers] {
            let held = was.is_some_and(|was| set.remove(&(was, gate)));
            if let Some(first) = first.filter(|_| held) {
                set.insert((first, gate));
            }
        }
        // Who falls back is put right when it comes up; who comes forward must be now.
        if !self.rules.fair || first < was {
            self.rank_anew(turn, gate);
        }
    }

    /// A group's place in the order of its key.
    fn rank_of(&self, turn: TurnIx, gate: GateIx, first: LaneKey) -> Rank {
        let is = self.turns.get(turn);
        if !self.rules.fair {
            let (tag, last) = fifo_order(first.1);
            return (Reverse(is.level), tag, last, (first.0, first.1));
        }
        let limit = self.limits.limit(self.limits.gate(gate).limit);
        let one = Tag::step(self.rules.one_job, self.tenants[is.tenant.0 as usize].weight);
        let tag = limit.order.tag(is.level, is.tenant, one);
        let last = is
            .seats
            .last()
            .map_or(Tag::default(), |seat| self.accounts.get(seat.standing).last_tag);
        (Reverse(is.level), tag, last, (first.0, first.1))
    }

    /// What the rank of a group would be now.
    pub(super) fn present_rank(&self, turn: TurnIx, gate: GateIx) -> Option<Rank> {
        let group = self.turns.get(turn).groups.get(&gate)?;
        Some(self.rank_of(turn, gate, *group.lanes.first()?))
    }

    /// Puts a group where it belongs now in the order of its key, without an offer.
    pub(super) fn rank_anew(&mut self, turn: TurnIx, gate: GateIx) {
        let Some(rank) = self.present_rank(turn, gate) else { return };
        let is = self.turns.get(turn);
        let (limit, queue) = (self.limits.gate(gate).limit, is.queue);
        if is.groups.get(&gate).is_some_and(|group| group.state == GroupState::Aside) {
            return;
        }
        self.withdraw(turn, gate);
        if let Some(group) = self.turns.get_mut(turn).groups.get_mut(&gate) {
            (group.rank, group.state) = (rank, GroupState::Waiting);
        }
        self.lot(limit, queue).add(rank, gate, turn);
        self.refresh(limit, queue);
        self.reseat(turn);
    }

    pub(super) fn lot(&mut self, limit: LimitIx, queue: QueueIx) -> &mut Lot {
        self.limits.limit_mut(limit).lots.entry(queue).or_default()
    }

    /// Takes a group out of its lot.
    fn withdraw(&mut self, turn: TurnIx, gate: GateIx) {
        let is = self.turns.get(turn);
        let Some(group) = is.groups.get(&gate) else { return };
        let (queue, rank, state) = (is.queue, group.rank, group.state);
        let limit = self.limits.gate(gate).limit;
        match state {
            GroupState::Waiting => self.lot(limit, queue).remove(rank, gate, turn),
            GroupState::Offered => self.take_offer_back(turn, gate),
            GroupState::Passed => {
                self.lot(limit, queue).passed.retain(|passed| *passed != (gate, turn));
            }
            GroupState::Aside => {
                self.turns.get_mut(turn).aside.retain(|aside| *aside != gate);
            }
        }
    }

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
    fn take_offer_back(&mut self, turn: TurnIx, gate: GateIx) {
        let is = self.turns.get_mut(turn);
        let queue = is.queue;
        let Some(group) = is.groups.get(&gate) else { return };
        let rank = group.rank;
        group.lanes.first().map(|first| is.offers.remove(&(*first, gate)));
        let limit = self.limits.gate(gate).limit;
        self.lot(limit, queue).take_offer_back(rank, gate, turn);
    }

    /// The group waits in line again, under the rank that it has.
    fn back_in_line(&mut self, turn: TurnIx, gate: GateIx) {
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

    fn resubscribe(&mut self, limit: LimitIx, queue: QueueIx) {
        let changes = self.lot(limit, queue).to_resubscribe();
        for (bucket, was, is, unchecked) in changes {
            if let Some(rank) = was {
                self.wake_up(limit, bucket, rank, Sleeper::Lot(queue));
            }
            self.lot(limit, queue).set_asleep(bucket, is);
            if let Some(rank) = is {
                self.sleep(limit, bucket, rank, Sleeper::Lot(queue));
                if unchecked {
                    self.to_wake.push((limit, bucket));
                }
            }
        }
        let limit = self.limits.limit_mut(limit);
        if limit.lots.get(&queue).is_some_and(Lot::is_empty) {
            limit.lots.remove(&queue);
        }
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

    fn re_rank_waiting(&mut self, turn: TurnIx, gate: GateIx) {
        let Some(rank) = self.present_rank(turn, gate) else { return };
        let limit = self.limits.gate(gate).limit;
        let is = self.turns.get_mut(turn);
        let queue = is.queue;
        let Some(group) = is.groups.get_mut(&gate) else { return };
        let was = std::mem::replace(&mut group.rank, rank);
        // In this order, so that the gate does not seem to have nobody waiting in between.
        let lot = self.lot(limit, queue);
        lot.add(rank, gate, turn);
        lot.remove(was, gate, turn);
    }

    /// Tenants that were served elsewhere since they began to sleep have another place now. Whether
    /// that changes who is first in a lot.
    pub(super) fn rank_closed_anew(
        &mut self,
        limit: LimitIx,
        bucket: Bucket,
        queue: QueueIx,
    ) -> bool {
        let mut moved = 0;
        while moved < RANKED_AT_ONCE
            && let Some((rank, gate, turn)) = self.lot(limit, queue).first_closed(bucket)
            && self.present_rank(turn, gate).is_some_and(|now| now > rank)
        {
            self.steps += 1;
            self.re_rank_waiting(turn, gate);
            moved += 1;
        }
        if moved > 0 {
            self.resubscribe(limit, queue);
        }
        (1..RANKED_AT_ONCE).contains(&moved)
    }

    fn close_gate(&mut self, limit: LimitIx, queue: QueueIx, gate: GateIx, closed: &Closed) {
        self.lot(limit, queue).close(gate, closed.bucket);
        self.set_timer(limit, closed);
    }

    pub(super) fn set_timer(&mut self, limit: LimitIx, closed: &Closed) {
        if let Some(opens) = closed.opens {
            self.limits.look_at(limit, closed.bucket, opens.max(0) as u64);
        }
    }

    pub(super) fn sleep(&mut self, limit: LimitIx, bucket: Bucket, rank: Rank, who: Sleeper) {
        self.limits.limit_mut(limit).asleep.entry(bucket).or_default().insert((rank, who));
    }

    pub(super) fn wake_up(&mut self, limit: LimitIx, bucket: Bucket, rank: Rank, who: Sleeper) {
        let limit = self.limits.limit_mut(limit);
        if let Some(asleep) = limit.asleep.get_mut(&bucket) {
            asleep.remove(&(rank, who));
            if asleep.is_empty() {
                limit.asleep.remove(&bucket);
            }
        }
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
    fn was_passed_above(&self, limit: LimitIx, queue: QueueIx, level: i32) -> bool {
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

    fn set_aside(&mut self, turn: TurnIx, gate: GateIx) {
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

    /// A lane must wait at another gate than the one it has waited at.
    pub(super) fn move_to_gate(&mut self, class: ClassId, to: GateIx) {
        self.displace_lane(class);
        self.place_lane_at(class, Some(to));
    }
}
