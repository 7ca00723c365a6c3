//! The decision for a fetch of a single tenant's jobs.

use super::Scheduler;
use super::limits::{Closed, GateIx, Sleeper};
use super::pick::{FetchRequest, Pick, Reason};
use super::rotation::RotationIx;
use super::turn::TurnIx;
use crate::queue::QueueIx;
use crate::shard::ShardIx;
use crate::tenant::TenantIx;

impl Scheduler {
    /// Picks the next job for a fetch of this tenant's jobs.
    pub(super) fn next_of_tenant(
        &mut self,
        request: &FetchRequest,
        tenant: TenantIx,
    ) -> Option<Pick> {
        let queues = self.requested_queues(request);
        if let Some(rotation) = request.rotation {
            self.follow_tenant(rotation, &queues, tenant);
        }
        let (charge, account) = (request.charge, request.account);
        let pick = |scheduler: &mut Self, queue: QueueIx, _: Reason| {
            let entry_in_account = || scheduler.queue(queue).member(account?);
            let entry_ix = charge.then(|| entry_in_account().unwrap_or(0));
            let shard = *scheduler.shard_of.get(&(queue, tenant))?;
            scheduler.pick_of_shard(queue, shard, entry_ix)
        };
        match request.rotation {
            Some(rotation) => self.next_of_some(&queues, rotation, Reason::Tenant, pick),
            None => pick(self, *queues.first()?, Reason::Tenant),
        }
    }

    /// Updates a tenant's rotation: which of these queues have something for the tenant to start.
    fn follow_tenant(&mut self, ix: RotationIx, queues: &[QueueIx], tenant: TenantIx) {
        for &queue in queues {
            let may_serve = |shard: &ShardIx| {
                let mut turns = self.shards[shard.0 as usize].turns.iter();
                turns.any(|(_, turn)| self.may_serve_tenant(*turn))
            };
            let shard = self.shard_of.get(&(queue, tenant));
            let ready = self.queue(queue).may_dispatch() && shard.is_some_and(may_serve);
            if !ready {
                self.put_to_sleep(ix, queue);
                continue;
            }
            self.wake_in_rotation(ix, queue);
            let (rotation_state, rotation) =
                (&self.queues[queue.0 as usize], self.rotations.get_mut(ix));
            if rotation.orders_by_depth()
                && let Some(position) = rotation.position(queue)
            {
                rotation.depth_changed(position, rotation_state.available);
            }
        }
    }

    pub(super) fn may_serve_tenant(&self, turn: TurnIx) -> bool {
        let turn_state = self.turns.get(turn);
        !turn_state.parked && turn_state.first_for_tenant().is_some()
    }

    fn pick_of_shard(
        &mut self,
        queue: QueueIx,
        shard: ShardIx,
        entry_ix: Option<usize>,
    ) -> Option<Pick> {
        if !self.queue(queue).may_dispatch() {
            return None;
        }
        loop {
            let turns = self.shards[shard.0 as usize].turns.iter();
            let served = turns.filter(|(_, turn)| self.may_serve_tenant(*turn));
            let &(_, turn) = served.max_by_key(|(level, _)| *level)?;
            if !self.queue_is_open(queue) {
                return None;
            }
            if let Some(pick) = self.pick_turn(turn, entry_ix, Reason::Tenant) {
                return Some(pick);
            }
        }
    }

    /// Puts a group to sleep for fetches of its own tenant, because its gate is closed.
    pub(super) fn sleep_for_tenant(&mut self, turn: TurnIx, gate: GateIx, closed: &Closed) {
        let limit = self.limits.gate(gate).limit;
        let turn_state = self.turns.get(turn);
        let (tenant, Some(group)) = (turn_state.tenant, turn_state.groups.get(&gate)) else {
            return;
        };
        let first = group.first();
        let rank = self.rank_of(turn, limit, first);
        let turn_state = self.turns.get_mut(turn);
        turn_state.open_for_tenant.remove(&(first, gate));
        if let Some(group) = turn_state.groups.get_mut(&gate) {
            group.asleep_for_tenant = Some((closed.bucket, rank));
        }
        self.subscribe(limit, closed.bucket, rank, tenant, Sleeper::GroupForTenant(turn, gate));
        self.set_timer(limit, closed);
        self.notify_closed(turn, gate, closed);
    }
}
