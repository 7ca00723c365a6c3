//! Waking: limits that may have opened, and waiting fetches that may be served.

use rota_model::{PoolName, TenantId};

use super::Scheduler;
use super::limits::{Bucket, GateIx, LimitIx, Sleeper};
use super::pick::FetchRequest;
use super::sleeping::NOBODY;
use super::tag::Tag;
use super::turn::TurnIx;
use crate::queue::QueueIx;
use crate::tenant::TenantIx;
use crate::{Now, WaiterId};

/// Timers of limits handled in one step.
const TIMERS_AT_ONCE: usize = 256;
/// Sleepers woken before waiting fetches are served.
const WOKEN_AT_ONCE: usize = 8;
/// A general bound: buckets and queues visited before a fetch is served, and the number of queues and
/// open starts up to which a key's order is compared across queues.
pub(super) const MOST_VISITED: usize = 64;

impl Scheduler {
    /// Advances the time. Buckets whose timer is due are listed, a bounded number at a time, and woken
    /// by [`Scheduler::next_waiting`].
    ///
    /// Limits are counted in monotonic time but observed in wall-clock time. To be exact by both, the
    /// limits' clock advances as the slower of the two does.
    pub fn advance(&mut self, now: Now) {
        let by_wall = now.wall.since(self.last.wall).max(0) as u64;
        let passed = now.mono.saturating_sub(self.last.mono).min(by_wall);
        self.now = Now { mono: self.now.mono + passed, ..now };
        self.last = now;
        for _ in 0..TIMERS_AT_ONCE {
            let Some(due) = self.limits.pop_timer(self.now.mono) else { return };
            self.to_wake.insert(due);
        }
    }

    /// A queue may have something to serve: wakes it in rotations and lists it for waiting fetches.
    pub(super) fn queue_ready(&mut self, queue: QueueIx) {
        for (rotation, _) in std::mem::take(&mut self.queue_mut(queue).sleeps_in) {
            self.steps += 1;
            self.wake_in_rotation(rotation, queue);
        }
        self.wake_parts(queue);
        if self.fetches.has_fetches_for(queue) {
            self.to_serve.insert(queue);
        }
    }

    /// A turn may have a job for waiting fetches of its own tenant.
    pub(super) fn tenant_fetches_ready(&mut self, turn: TurnIx) {
        let turn_state = self.turns.get(turn);
        if self.fetches.has_tenant_fetches_for(turn_state.queue) {
            let id = self.tenants[turn_state.tenant.0 as usize].id.clone();
            self.to_serve_tenant.insert((turn_state.queue, id));
        }
    }

    /// The waiting fetch to try next, if any may be served. The caller serves it, or calls
    /// `got_nothing`, before the next call. `find` returns the index of a tenant.
    pub fn next_waiting(
        &mut self,
        find: impl Fn(&TenantId) -> Option<TenantIx>,
    ) -> Option<WaiterId> {
        loop {
            self.steps += 1;
            let woken = self.wake_some();
            if let Some(waiter) = self.next_listed_fetch(&find) {
                return Some(waiter);
            }
            if !woken {
                self.fetches.forget_tried();
                return None;
            }
        }
    }

    /// The first fetch that waits for a listed pool, queue or tenant.
    fn next_listed_fetch(
        &mut self,
        find: impl Fn(&TenantId) -> Option<TenantIx>,
    ) -> Option<WaiterId> {
        while let Some(pool) = self.to_serve_pools.first() {
            self.steps += 1;
            if self.pools.has_room(Some(pool))
                && let Some(waiter) =
                    self.fetches.first_in_pool(pool, |tenant| self.slot_rank(pool, tenant, &find))
            {
                return Some(waiter);
            }
            self.to_serve_pools.pop_first();
        }
        while let Some(queue) = self.to_serve.first() {
            self.steps += 1;
            if self.has_eligible_turn(queue)
                && let Some(waiter) = self.fetches.first_for(queue, &self.pools)
            {
                return Some(waiter);
            }
            self.to_serve.pop_first();
        }
        while let Some((queue, id)) = self.to_serve_tenant.first() {
            self.steps += 1;
            if find(id).is_some_and(|tenant| self.has_work_of(*queue, tenant))
                && let Some(waiter) = self.fetches.first_of_tenant(*queue, id, &self.pools)
            {
                return Some(self.fairest_listed(waiter, &find));
            }
            self.to_serve_tenant.pop_first();
        }
        None
    }

    /// The order in which fetches get the free slots of a pool. In a fair pool, the tenant that would have
    /// the fewest slots for its weight is first; shared workers, which serve all tenants in turn, come
    /// before tenants' own.
    fn slot_rank(
        &self,
        pool: &PoolName,
        tenant: Option<&TenantId>,
        find: impl Fn(&TenantId) -> Option<TenantIx>,
    ) -> u128 {
        match (self.pools.fair(pool), tenant.and_then(find)) {
            (Some(pool), Some(ix)) => {
                Tag::step(pool.slots.of(ix).saturating_add(1), self.tenant(ix).weight)
            }
            _ => 0,
        }
    }

    /// Instead of a fetch of a fair pool, the one of that pool to which the next slot belongs, among
    /// tenants that are listed: several tenants may have got work at once.
    fn fairest_listed(
        &self,
        waiter: WaiterId,
        find: impl Fn(&TenantId) -> Option<TenantIx>,
    ) -> WaiterId {
        let pool = self.fetches.get(waiter).and_then(|waiter| waiter.pool());
        let Some(name) = pool.filter(|name| self.pools.fair(name).is_some()) else { return waiter };
        let listed = self.to_serve_tenant.iter().take(MOST_VISITED);
        let of_pool = listed.filter_map(|(queue, id)| {
            let tenant = find(id).filter(|tenant| self.has_work_of(*queue, *tenant))?;
            let fetch = self.fetches.first_of_tenant(*queue, id, &self.pools)?;
            let is_in_pool = self.fetches.get(fetch)?.pool() == Some(name);
            let rank = self.slot_rank(name, Some(id), |_| Some(tenant));
            is_in_pool.then_some((rank, fetch))
        });
        of_pool.min().map_or(waiter, |(_, fetch)| fetch)
    }

    /// Whether a fetch for one tenant may get something from a queue. A tenant may have hundreds of
    /// waiting fetches, and none is tried in vain after the first.
    fn has_work_of(&self, queue: QueueIx, tenant: TenantIx) -> bool {
        let shard = self.shard_of.get(&(queue, tenant));
        let mut turns = shard.into_iter().flat_map(|ix| &self.shards[ix.0 as usize].turns);
        self.queue(queue).may_dispatch() && turns.any(|(_, turn)| self.may_serve_tenant(*turn))
    }

    /// Whether a queue is not known to be closed and has a turn in its rings.
    pub(super) fn has_eligible_turn(&self, queue: QueueIx) -> bool {
        let queue_state = self.queue(queue);
        queue_state.may_dispatch()
            && queue_state.asleep.is_none()
            && queue_state.members.first().is_some_and(|member| !member.rings.is_empty())
    }

    /// Wakes up to [`WOKEN_AT_ONCE`] sleepers of limits that may have opened, and makes pending
    /// repairs. Returns whether there may be more. Not all are woken at once, because what opened is
    /// soon used up.
    pub(super) fn wake_some(&mut self) -> bool {
        for _ in 0..WOKEN_AT_ONCE {
            self.steps += 1;
            if self.place_one_again() {
                continue;
            }
            if self.repair_one() {
                continue;
            }
            if let Some(&(limit, bucket)) = self.to_wake.first() {
                if !self.wake_first(limit, bucket) {
                    self.to_wake.pop_first();
                }
            } else {
                return false;
            }
        }
        true
    }

    /// Whether `wake_some` has nothing to do.
    pub(super) fn has_nothing_to_wake(&self) -> bool {
        self.to_wake.is_empty() && !self.may_repair() && self.to_place_again.is_empty()
    }

    /// Before a fetch is served, wakes the waitlists of its queues whose bucket may have opened.
    pub(super) fn wake_requested(&mut self, request: &FetchRequest) {
        if self.has_nothing_to_wake() {
            return;
        }
        self.withdraw_from_parked();
        let queues = self.requested_queues(request);
        let pending: Vec<_> = self.to_wake.iter().copied().take(MOST_VISITED).collect();
        for (limit, bucket) in pending {
            for &queue in queues.iter().take(MOST_VISITED) {
                self.steps += 1;
                let lists = self.limits.exists(limit).then(|| &self.limits.limit(limit).waitlists);
                let list = lists.and_then(|lists| lists.get(&queue));
                if list.is_some_and(|list| list.is_asleep(bucket)) {
                    self.wake_waitlist(limit, bucket, queue);
                }
            }
        }
        if let Some(tenant) = request.only {
            self.wake_requested_of_tenant(tenant, &queues);
        }
    }

    /// The same for the first [`MOST_VISITED`] groups of a tenant in these queues, which sleep for
    /// fetches of their own tenant. If there are more, these are woken if the fetch gets nothing else.
    fn wake_requested_of_tenant(&mut self, tenant: TenantIx, queues: &[QueueIx]) {
        let shards = queues.iter().filter_map(|queue| self.shard_of.get(&(*queue, tenant)));
        let turns = shards.flat_map(|ix| &self.shards[ix.0 as usize].turns).map(|(_, turn)| *turn);
        let groups = turns.flat_map(|turn| {
            let groups = self.turns.get(turn).groups.iter();
            groups.map(move |(gate, group)| (turn, *gate, group.asleep_for_tenant))
        });
        let visited: Vec<_> = groups.take(MOST_VISITED).collect();
        self.steps += visited.len() as u64;
        for (turn, gate, asleep) in visited {
            let limit = self.limits.gate(gate).limit;
            if asleep.is_some_and(|(bucket, _)| self.to_wake.contains(&(limit, bucket))) {
                self.wake_group_for_tenant(turn, gate);
            }
        }
    }

    fn wake_waitlist(&mut self, limit: LimitIx, bucket: Bucket, queue: QueueIx) {
        self.waitlist(limit, queue).wake(bucket);
        self.resubscribe(limit, queue, bucket);
        self.refresh(limit, queue);
    }

    /// Wakes the first sleeper of a bucket if it may start. Returns whether there may be more.
    fn wake_first(&mut self, limit: LimitIx, bucket: Bucket) -> bool {
        if !self.limits.exists(limit) {
            return false;
        }
        let first = self.limits.limit(limit).sleepers.first(bucket);
        let Some(((level, tenant), tag, sleeper)) = first else { return false };
        if tenant != NOBODY {
            let current_tag = self.tag_at(limit, level.0, tenant);
            if current_tag > tag {
                // The tenant was served elsewhere since it began to sleep.
                let sleepers = &mut self.limits.limit_mut(limit).sleepers;
                let contested = sleepers.set_tag(bucket, (level, tenant), current_tag);
                for queue in contested {
                    self.rank_first_again(limit, bucket, queue);
                }
                return true;
            }
        }
        let gate = self.gate_of_sleeper(limit, bucket, sleeper);
        let closed = gate.and_then(|gate| self.limits.opening(gate, self.now).closed);
        if let Some(closed) = closed
            && closed.bucket == bucket
        {
            self.set_timer(limit, &closed);
            return false;
        }
        match sleeper {
            Sleeper::GroupForTenant(turn, gate) => self.wake_group_for_tenant(turn, gate),
            Sleeper::Queue(queue) => {
                self.wake_queue_gate(queue);
                if let Some(gate) = gate.filter(|_| closed.is_none()) {
                    self.notify_queue_gate(queue, gate, None);
                }
                self.queue_ready(queue);
                self.all_tenant_fetches_ready(queue);
            }
            Sleeper::Waitlist(queue) => self.wake_waitlist(limit, bucket, queue),
        }
        true
    }

    /// The gate that a sleeper would start through.
    fn gate_of_sleeper(
        &mut self,
        limit: LimitIx,
        bucket: Bucket,
        sleeper: Sleeper,
    ) -> Option<GateIx> {
        match sleeper {
            Sleeper::GroupForTenant(_, gate) => Some(gate),
            Sleeper::Queue(queue) => self.queue(queue).gate,
            Sleeper::Waitlist(queue) => {
                let first = self.waitlist(limit, queue).first_in(Some(bucket));
                first.map(|first| first.group.1)
            }
        }
    }

    fn wake_group_for_tenant(&mut self, turn: TurnIx, gate: GateIx) {
        let limit = self.limits.gate(gate).limit;
        let turn_state = self.turns.get_mut(turn);
        let tenant = turn_state.tenant;
        let Some(group) = turn_state.groups.get_mut(&gate) else { return };
        let asleep = group.asleep_for_tenant.take();
        turn_state.open_for_tenant.insert((group.first(), gate));
        if let Some((bucket, rank)) = asleep {
            self.unsubscribe(limit, bucket, rank, tenant, Sleeper::GroupForTenant(turn, gate));
        }
        self.tenant_fetches_ready(turn);
    }

    /// A job of a limit ended: lists the buckets that have a free slot now.
    pub(super) fn slot_freed(&mut self, limit: LimitIx) {
        let limit_state = self.limits.limit(limit);
        if !limit_state.sleepers.is_empty() {
            let open = limit_state.sleepers.with_a_slot(limit_state.version, limit_state.active);
            self.to_wake.extend(open.map(|bucket| (limit, bucket)));
        }
    }

    /// Removes a start that did not happen, and lists all buckets of the limit to be woken.
    pub fn undo_start(&mut self, limit: LimitIx, at: i64) {
        let limit_state = self.limits.limit_mut(limit);
        limit_state.undo_start(at);
        self.to_wake.extend(limit_state.sleepers.buckets().map(|bucket| (limit, bucket)));
        self.may_open_early(limit);
    }

    /// A limit's settings have changed: all that waits for it is checked again.
    pub(super) fn limit_changed(&mut self, limit: LimitIx) {
        self.pause_may_be_over(limit);
        self.may_open_early(limit);
        let limit_state = self.limits.limit_mut(limit);
        limit_state.version += 1;
        self.to_wake.extend(limit_state.sleepers.buckets().map(|bucket| (limit, bucket)));
        let queues: Vec<QueueIx> = limit_state.waitlists.keys().copied().collect();
        queues.into_iter().for_each(|queue| self.refresh(limit, queue));
    }

    /// When the next timer of a limit is due, in the limits' clock.
    pub fn next_timer(&self) -> Option<u64> {
        self.limits.next_timer()
    }
}
