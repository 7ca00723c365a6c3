//! Recurring schedules: when they may run, and what a run does to the one before.

use rota_engine::{Backpressure, Bounds, Overlap};
use rota_model::{CronName, Live, Millis, QueueName, Seq, State};
use rota_store::NewRow;

use super::scene::Scene;
use super::violation::{Check, Rule, Violation, ensure};
use super::world::{Cron, World};

impl Cron {
    /// The last occurrence has not been dealt with.
    pub(super) fn owes(&self, wall: Millis) -> bool {
        self.enabled && self.last_occurrence(wall) > self.settled
    }

    fn last_occurrence(&self, wall: Millis) -> Millis {
        Millis(wall.0 - wall.0.rem_euclid(self.period_ms))
    }
}

impl World {
    /// A job that nobody brought is the run of a schedule.
    pub(super) fn cron_run(
        &mut self,
        row: &NewRow,
        live: &Live,
        scene: &Scene<'_>,
    ) -> Result<CronName, Violation> {
        let seq = row.seq;
        let Some(name) = cron_name(row).filter(|name| self.crons.contains_key(name)) else {
            let message = format!("nobody asked for job {seq}");
            return Err(Violation::new(Rule::Unasked, message));
        };
        let earlier = self.unfinished_runs(&name);
        let wall = self.wall;
        let cron = self.crons.get_mut(&name).expect("the schedule was just found");
        let due = cron.owes(wall) && !scene.was_frozen;
        ensure(due, Rule::Cron, || format!("{name} ran when it was not due"))?;
        let (alone, held) = match cron.overlap {
            Overlap::Skip | Overlap::CancelPrevious => (earlier.is_empty(), false),
            Overlap::Allow => (true, false),
            Overlap::Enqueue => (true, !earlier.is_empty()),
        };
        cron.settled = wall;
        let right = alone && live.held == held && live.state == State::Available;
        ensure(right, Rule::Cron, || format!("{name} ran as {live:?} beside {earlier:?}"))?;
        Ok(name)
    }

    pub(super) fn check_schedules(&self) -> Check {
        for (name, cron) in &self.crons {
            let owes = cron.overlap == Overlap::Allow && cron.owes(self.wall) && !self.maintenance;
            ensure(!owes || !self.must_run(cron), Rule::Cron, || format!("{name} did not run"))?;
        }
        for (seq, job) in self.jobs.iter().filter(|(_, job)| job.is_held()) {
            let earlier = job.run_of.as_ref().map(|name| self.unfinished_runs(name));
            let waits = earlier.is_some_and(|runs| runs.iter().any(|run| run < seq));
            ensure(waits, Rule::Cron, || {
                format!("job {seq} is held though no earlier run is left")
            })?;
        }
        Ok(())
    }

    /// A run that would need one queue too many is left out, and so may be one for which there is
    /// no room.
    fn must_run(&self, cron: &Cron) -> bool {
        let queue = self.queues.get(&cron.queue);
        let room = self.queues.len() < self.config.max_queues;
        let tenant = self.tenant(&cron.tenant);
        let quota = tenant.max_queue_depth.is_some() || tenant.max_enqueue_rate.is_some();
        let keeps_out = |bounds: Bounds| {
            let of_tenant = bounds.tenant_max_depth > 0 || bounds.tenant_max_bytes > 0;
            bounds.strategy != Backpressure::DropOldest || bounds.max_bytes > 0 || of_tenant
        };
        let bounded = queue.and_then(|queue| queue.bounds).is_some_and(keeps_out);
        (room || queue.is_some()) && !quota && !bounded
    }

    /// A schedule is due that brings a job into this queue.
    pub(super) fn owes_run_of(&self, queue: &QueueName) -> bool {
        self.crons.values().any(|cron| cron.queue == *queue && cron.owes(self.wall))
    }

    /// What was left out is not made up for.
    pub(super) fn settle_left_out(&mut self) {
        let wall = self.wall;
        let left_out = |(name, cron): (&CronName, &Cron)| {
            (!self.maintenance && cron.owes(wall) && !self.must_run(cron)).then(|| name.clone())
        };
        let names: Vec<_> = self.crons.iter().filter_map(left_out).collect();
        for name in names {
            self.crons.entry(name).and_modify(|cron| cron.settled = wall);
        }
    }

    fn unfinished_runs(&self, name: &CronName) -> Vec<Seq> {
        let of_it = |(_, job): &(&Seq, &super::world::Job)| job.run_of.as_ref() == Some(name);
        self.jobs.iter().filter(of_it).map(|(&seq, _)| seq).collect()
    }
}

/// Every run says where it comes from.
fn cron_name(row: &NewRow) -> Option<CronName> {
    let body: serde_json::Value =
        serde_json::from_slice(&[b"{", &row.body[..], b"}"].concat()).ok()?;
    CronName::parse(body["metadata"]["cron_name"].as_str()?).ok()
}
