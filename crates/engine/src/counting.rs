//! Jobs enter and leave their states: what is counted, and what waits in a lane.

use rota_model::mutation::Counts;
use rota_model::{ClassId, Seq, State};

use crate::Engine;
use crate::scheduler::{Size, Waiting};

impl Engine {
    /// A job is ready: it joins its lane and may be handed out. It must not be counted anywhere.
    pub(crate) fn enter_lane(&mut self, seq: Seq, class: ClassId, job: Waiting) {
        let since = if job.fresh { None } else { Some(self.wall()) };
        self.count_in(class, State::Available, job.size);
        self.scheduler.enter(seq, class, Waiting { since, ..job });
    }

    /// Takes a waiting job out of its lane.
    pub(crate) fn leave_lane(&mut self, seq: Seq, class: ClassId) {
        let size = self.scheduler.leave(seq, class);
        debug_assert!(size.is_some(), "an available job is in its lane");
        if let Some(size) = size {
            self.count_out(class, State::Available, size);
        }
    }

    /// Jobs of this class that a start has put into their lane, one by one, are counted, and the lane
    /// finds its place.
    pub(crate) fn count_refilled(&mut self, class: ClassId, jobs: u64, bytes: u64) {
        let slot = self.classes.slot(class);
        let (queue, shard, tenant) = (slot.queue, slot.shard, slot.tenant);
        self.queues.get_mut(queue).jobs.refill(jobs, bytes);
        self.queues.jobs.refill(jobs, bytes);
        let shard = self.shards.get_mut(shard);
        shard.jobs.refill(jobs, bytes);
        self.meters.at(shard.meter).jobs.refill(jobs, bytes);
        self.tenants.get_mut(tenant).jobs.refill(jobs, bytes);
        self.noise_may_change(tenant);
        self.scheduler.place_refilled(class, jobs);
    }

    /// A living job of this class is in this state now.
    pub(crate) fn count_in(&mut self, class: ClassId, state: State, size: Size) {
        let slot = self.classes.slot(class);
        let (queue, shard, tenant) = (slot.queue, slot.shard, slot.tenant);
        self.queues.get_mut(queue).jobs.enter(state, size);
        self.queues.jobs.enter(state, size);
        let shard = self.shards.get_mut(shard);
        shard.jobs.enter(state, size);
        self.meters.at(shard.meter).jobs.enter(state, size);
        self.tenants.get_mut(tenant).jobs.enter(state, size);
        self.noise_may_change(tenant);
    }

    /// And not any more.
    pub(crate) fn count_out(&mut self, class: ClassId, state: State, size: Size) {
        let slot = self.classes.slot(class);
        let (ix, shard, tenant) = (slot.queue, slot.shard, slot.tenant);
        self.queues.jobs.leave(state, size);
        let queue = self.queues.get_mut(ix);
        queue.jobs.leave(state, size);
        if queue.row.settings.bounds.is_some() {
            self.queues_to_unblock.insert(ix);
        }
        let shard = self.shards.get_mut(shard);
        shard.jobs.leave(state, size);
        self.meters.at(shard.meter).jobs.leave(state, size);
        let owner = self.tenants.get_mut(tenant);
        owner.jobs.leave(state, size);
        owner.told_capped &= owner.jobs.count(State::Available) > 0;
        self.noise_may_change(tenant);
    }

    /// Of the finished jobs of this class, others are kept now.
    pub(crate) fn count_kept(&mut self, class: ClassId, change: impl Fn(&mut Counts)) {
        let slot = self.classes.slot(class);
        change(&mut self.queues.get_mut(slot.queue).done);
        change(&mut self.queues.done);
        change(&mut self.shards.get_mut(slot.shard).done);
    }
}
