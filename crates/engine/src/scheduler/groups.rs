//! Groups: lanes join and leave the group of their turn at a gate, and groups get their ranks at a
//! key.

use std::cmp::Reverse;

use rota_model::ClassId;

use super::Scheduler;
use super::limits::{Bucket, Closed, GateIx, LimitIx, Rank, Sleeper, Waitlist};
use super::notice::Notice;
use super::tag::{Tag, fifo_order};
use super::turn::{Group, LaneKey, TurnIx};
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

impl Scheduler {
    /// A lane joins its turn's group at this gate.
    pub(super) fn join_group(&mut self, turn: TurnIx, gate: GateIx, lane: LaneKey) {
        if let Some(group) = self.turns.get_mut(turn).groups.get_mut(&gate) {
            let first = group.first();
            group.lanes.insert(lane);
            self.first_lane_moved(turn, gate, first);
            return;
        }
        let limit = self.limits.gate(gate).limit;
        let turn_state = self.turns.get_mut(turn);
        let (queue, level, tenant) = (turn_state.queue, turn_state.level, turn_state.tenant);
        turn_state.groups.put(gate, Box::new(Group::new(lane)));
        turn_state.open_for_tenant.insert((lane, gate));
        self.limits.stand_at(gate);
        let job_step = self.job_step_of(tenant);
        self.limits.limit_mut(limit).order.join(level, tenant, job_step);
        match self.limits.opening(gate, self.now).closed {
            Some(closed) => self.close_group(turn, gate, &closed, true),
            None => self.put_at_gate(turn, gate, None),
        }
        self.refresh(limit, queue);
        self.tenant_fetches_ready(turn);
    }

    /// A lane leaves its group.
    pub(super) fn leave_group(&mut self, turn: TurnIx, gate: GateIx, lane: LaneKey) {
        let Some(group) = self.turns.get_mut(turn).groups.get_mut(&gate) else { return };
        if group.lanes.len() > 1 {
            let first = group.first();
            group.lanes.remove(&lane);
            self.first_lane_moved(turn, gate, first);
            return;
        }
        self.take_out_of_line(turn, gate);
        let turn_state = self.turns.get_mut(turn);
        let (queue, level, tenant) = (turn_state.queue, turn_state.level, turn_state.tenant);
        let group = turn_state.groups.remove(&gate);
        turn_state.open_for_tenant.remove(&(lane, gate));
        let limit = self.limits.gate(gate).limit;
        if let Some((bucket, rank)) = group.and_then(|group| group.asleep_for_tenant) {
            self.unsubscribe(limit, bucket, rank, tenant, Sleeper::GroupForTenant(turn, gate));
        }
        self.limits.limit_mut(limit).order.leave(level, tenant);
        self.refresh(limit, queue);
        if self.limits.leave_gate(gate) {
            self.notices.push(Notice::GateGone(limit));
        }
    }

    /// The first lane of a group changed, or its head did.
    pub(super) fn first_lane_moved(&mut self, turn: TurnIx, gate: GateIx, old: LaneKey) {
        let turn_state = self.turns.get_mut(turn);
        let Some(group) = turn_state.groups.get(&gate) else { return };
        let (first, is_candidate, queue) = (group.first(), group.is_candidate, turn_state.queue);
        let has_others = turn_state.groups.len() > 1;
        if first == old {
            return;
        }
        if turn_state.open_for_tenant.remove(&(old, gate)).is_some() {
            turn_state.open_for_tenant.insert((first, gate));
        }
        let limit = self.limits.gate(gate).limit;
        let rank = self.rank_of(turn, limit, first);
        let list = self.waitlist(limit, queue);
        list.rekey(turn, (old, gate), (first, gate), is_candidate, rank);
        let bucket = list.bucket_of(gate);
        self.line_changed(limit, turn, bucket.filter(|_| !is_candidate));
        // A rank that has become too small is corrected when it comes up. One that must become smaller
        // is corrected now, and so is a candidate's offer if another of its groups has the older job
        // now.
        if first < old || is_candidate && has_others {
            self.refresh(limit, queue);
        }
    }

    /// Moves a lane to another gate.
    pub(super) fn move_to_gate(&mut self, class: ClassId, to: GateIx) {
        self.displace_lane(class);
        self.place_lane_at(class, Some(to));
    }

    /// Puts a group whose gate was found closed to sleep, with all others in the same bucket. `new`
    /// says that the group is not in its waitlist yet.
    pub(super) fn close_group(&mut self, turn: TurnIx, gate: GateIx, closed: &Closed, new: bool) {
        let turn_state = self.turns.get(turn);
        let (queue, limit) = (turn_state.queue, self.limits.gate(gate).limit);
        let is_candidate = turn_state.groups.get(&gate).is_some_and(|group| group.is_candidate);
        let old = self.waitlist(limit, queue).bucket_of(gate);
        if is_candidate {
            self.take_out_of_line(turn, gate);
        }
        if is_candidate || new {
            self.put_at_gate(turn, gate, Some(closed.bucket));
        } else {
            self.waitlist(limit, queue).close(gate, closed.bucket);
            self.resubscribe(limit, queue, closed.bucket);
        }
        if let Some(old) = old.filter(|old| *old != closed.bucket) {
            self.resubscribe(limit, queue, old);
        }
        self.set_timer(limit, closed);
        self.notify_closed(turn, gate, closed);
    }

    fn put_at_gate(&mut self, turn: TurnIx, gate: GateIx, closed: Option<Bucket>) {
        let limit = self.limits.gate(gate).limit;
        let turn_state = self.turns.get_mut(turn);
        let (queue, tenant) = (turn_state.queue, turn_state.tenant);
        let Some(group) = turn_state.groups.get_mut(&gate) else { return };
        group.is_candidate = false;
        let first = group.first();
        let rank = self.rank_of(turn, limit, first);
        let list = self.waitlist(limit, queue);
        list.insert(turn, tenant, (first, gate), rank, closed);
        let bucket = list.bucket_of(gate);
        self.line_changed(limit, turn, bucket);
    }

    fn take_out_of_line(&mut self, turn: TurnIx, gate: GateIx) {
        let turn_state = self.turns.get(turn);
        let Some(group) = turn_state.groups.get(&gate) else { return };
        let (queue, first, is_candidate) = (turn_state.queue, group.first(), group.is_candidate);
        let limit = self.limits.gate(gate).limit;
        let list = self.waitlist(limit, queue);
        let bucket = list.bucket_of(gate);
        list.remove(turn, (first, gate), is_candidate);
        self.line_changed(limit, turn, bucket.filter(|_| !is_candidate));
    }

    /// Updates what depends on a line that changed: the turn's offer, or how the gates of a bucket
    /// sleep.
    fn line_changed(&mut self, limit: LimitIx, turn: TurnIx, bucket: Option<Bucket>) {
        match bucket {
            None => self.update_offer(limit, turn),
            Some(bucket) => self.resubscribe(limit, self.turns.get(turn).queue, bucket),
        }
    }

    /// The current rank of a turn at a key.
    pub(super) fn rank_of(&self, turn: TurnIx, limit: LimitIx, first: LaneKey) -> Rank {
        let turn_state = self.turns.get(turn);
        let (level, (priority, job, _)) = (Reverse(turn_state.level), first);
        if !self.rules.fair {
            let (last, tag) = fifo_order(job);
            return Rank { level, tag, last, priority, job };
        }
        let entry = turn_state.ring_entries.first();
        let last = entry.map_or(Tag::default(), |entry| self.accounts.get(entry.standing).last_tag);
        Rank {
            level,
            tag: self.tag_at(limit, turn_state.level, turn_state.tenant),
            last,
            priority,
            job,
        }
    }

    pub(super) fn tag_at(&self, limit: LimitIx, level: i32, tenant: TenantIx) -> Tag {
        self.limits.limit(limit).order.tag(level, tenant, self.job_step_of(tenant))
    }

    /// How far one job moves a tenant's tag, by its current weight.
    pub(super) fn job_step_of(&self, tenant: TenantIx) -> u128 {
        Tag::step(self.rules.one_job, self.tenant(tenant).weight)
    }

    /// Ranks a group by its tenant's new weight.
    pub(super) fn rank_group_again(&mut self, turn: TurnIx, gate: GateIx) {
        let turn_state = self.turns.get(turn);
        let Some(group) = turn_state.groups.get(&gate) else { return };
        let (first, is_candidate) = (group.first(), group.is_candidate);
        let (queue, level, tenant) = (turn_state.queue, turn_state.level, turn_state.tenant);
        let (limit, job_step) = (self.limits.gate(gate).limit, self.job_step_of(tenant));
        self.limits.limit_mut(limit).order.apply_weight(level, tenant, job_step);
        let rank = self.rank_of(turn, limit, first);
        let list = self.waitlist(limit, queue);
        list.set_rank(turn, gate, is_candidate, rank);
        let bucket = list.bucket_of(gate);
        self.line_changed(limit, turn, bucket.filter(|_| !is_candidate));
        self.refresh(limit, queue);
    }

    pub(super) fn waitlist(&mut self, limit: LimitIx, queue: QueueIx) -> &mut Waitlist {
        self.limits.limit_mut(limit).waitlists.or_insert(queue, Box::default)
    }
}
