//! Groups of lanes at gates: joining and leaving them, and their place in the order of a key.

use std::cmp::Reverse;

use rota_model::ClassId;

use super::Scheduler;
use super::limits::{GateIx, LimitIx, Lot, Rank, Sleeper};
use super::tag::{Tag, fifo_order};
use super::turn::{Group, GroupState, LaneKey, TurnIx};
use crate::queue::QueueIx;

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
    pub(super) fn withdraw(&mut self, turn: TurnIx, gate: GateIx) {
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

    pub(super) fn re_rank_waiting(&mut self, turn: TurnIx, gate: GateIx) {
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

    /// A lane must wait at another gate than the one it has waited at.
    pub(super) fn move_to_gate(&mut self, class: ClassId, to: GateIx) {
        self.displace_lane(class);
        self.place_lane_at(class, Some(to));
    }
}
