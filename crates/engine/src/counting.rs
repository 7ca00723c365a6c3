//! Counting jobs by state, in their queue, shard, tenant and meter, and moving them into and out of
//! lanes.

use rota_model::mutation::Counts;
use rota_model::{ClassId, Seq, State};

use crate::Engine;
use crate::job_counts::JobCounts;
use crate::scheduler::{Size, WaitingJob};

impl Engine {
    /// Puts an available job into its lane. It must not be counted in any state.
    pub(crate) fn enter_lane(&mut self, seq: Seq, class: ClassId, job: WaitingJob) {
        let since = if job.fresh { None } else { Some(self.wall()) };
        self.count_in(class, State::Available, job.size);
        self.scheduler.enter(seq, class, WaitingJob { since, ..job });
    }

    pub(crate) fn leave_lane(&mut self, seq: Seq, class: ClassId) {
        let size = self.scheduler.leave(seq, class);
        debug_assert!(size.is_some(), "an available job is in its lane");
        if let Some(size) = size {
            self.count_out(class, State::Available, size);
        }
    }

    /// After a restart: counts the jobs that were put into the lane of a class, and places the
    /// lane.
    pub(crate) fn count_refilled(&mut self, class: ClassId, jobs: u64, bytes: u64) {
        self.count_change(class, |counts| counts.add_available(jobs, bytes));
        self.scheduler.place_refilled(class, jobs);
    }

    /// Counts a job into a state.
    pub(crate) fn count_in(&mut self, class: ClassId, state: State, size: Size) {
        self.count_change(class, |jobs| jobs.enter(state, size));
    }

    /// Counts a job out of a state.
    pub(crate) fn count_out(&mut self, class: ClassId, state: State, size: Size) {
        self.count_change(class, |jobs| jobs.leave(state, size));
        self.job_left(class);
    }

    /// Counts a job that starts.
    pub(crate) fn count_start(&mut self, class: ClassId, size: Size) {
        self.count_change(class, |jobs| {
            jobs.leave(State::Available, size);
            jobs.enter(State::Active, size);
        });
        self.job_left(class);
    }

    fn count_change(&mut self, class: ClassId, change: impl Fn(&mut JobCounts)) {
        let slot = self.classes.slot(class);
        let (queue, shard, tenant) = (slot.queue, slot.shard, slot.tenant);
        change(&mut self.queues.jobs);
        change(&mut self.queues.get_mut(queue).jobs);
        let shard = self.shards.get_mut(shard);
        change(&mut shard.jobs);
        change(&mut self.meters.meter_mut(shard.meter).jobs);
        change(&mut self.tenants.get_mut(tenant).jobs);
        self.schedule_noise_check(tenant);
    }

    /// A job has left a state: its queue may have room, and its tenant may no longer have available
    /// jobs.
    fn job_left(&mut self, class: ClassId) {
        let slot = self.classes.slot(class);
        let (queue, tenant) = (slot.queue, slot.tenant);
        if self.queues.get(queue).row.settings.bounds.is_some() {
            self.room_checks.add(queue);
        }
        let tenant = self.tenants.get_mut(tenant);
        tenant.notified_at_cap &= tenant.jobs.count(State::Available) > 0;
    }

    /// Changes the counts of finished jobs.
    pub(crate) fn count_kept(&mut self, class: ClassId, change: impl Fn(&mut Counts)) {
        let slot = self.classes.slot(class);
        change(&mut self.queues.get_mut(slot.queue).done);
        change(&mut self.queues.done);
        change(&mut self.shards.get_mut(slot.shard).done);
    }
}
