//! Checks recurring schedules: when they may run, and their overlap policies.

use rota_engine::{Backpressure, Bounds, Capped, Command, Overlap, Refusal, Reply};
use rota_model::{CronName, Live, Millis, QueueName, Quota, Seq, State, TenantId};
use rota_store::{Mutation, NewRow, RowKind};

use super::step_context::StepContext;
use super::violation::{Check, Rule, Violation, ensure};
use super::world::{Cron, World};

/// More bytes than any run has here.
const LARGEST_RUN: u64 = 300;

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
        context: &StepContext<'_>,
    ) -> Result<CronName, Violation> {
        let seq = row.seq;
        let Some(name) = self.cron_name(row).filter(|name| self.crons.contains_key(name)) else {
            let message = format!("nobody asked for job {seq}");
            return Err(Violation::new(Rule::Unasked, message));
        };
        let earlier = self.unfinished_runs(&name);
        let wall = self.wall;
        let asked = matches!(&context.step.command, Command::TriggerCron { name: asked, .. } if *asked == name);
        let cron = self.crons.get_mut(&name).expect("the schedule was just found");
        let due = cron.owes(wall) && !context.was_frozen;
        ensure(due || asked, Rule::Cron, || format!("{name} ran when it was not due"))?;
        let (alone, held) = match cron.overlap {
            Overlap::Skip | Overlap::CancelPrevious => (earlier.is_empty(), false),
            Overlap::Allow => (true, false),
            Overlap::Enqueue => (true, !earlier.is_empty()),
        };
        // What is due stays due when a run is triggered by hand.
        if !asked {
            cron.settled = wall;
        }
        let right = alone && live.marked == held && live.state == State::Available;
        ensure(right, Rule::Cron, || format!("{name} ran as {live:?} beside {earlier:?}"))?;
        Ok(name)
    }

    /// A schedule runs when it is told to, unless its policy or a limit is in the way.
    pub(super) fn check_triggered(&self, name: &CronName, context: &StepContext<'_>) -> Check {
        let right = match (&context.step.reply, self.crons.get(name)) {
            (Reply::Refused(Refusal::UnknownCron), cron) => cron.is_none(),
            (Reply::Refused(Refusal::RunUnfinished { run }), Some(cron)) => {
                cron.overlap == Overlap::Skip && self.unfinished_runs(name).contains(run)
            }
            (Reply::Refused(_), Some(cron)) => !self.must_run(name, cron, context),
            (Reply::Triggered { job, .. }, Some(_)) => {
                self.jobs.get(&job.seq).is_some_and(|run| run.run_of.as_ref() == Some(name))
            }
            _ => false,
        };
        ensure(right, Rule::Cron, || format!("{name} was triggered: {:?}", context.step.reply))
    }

    pub(super) fn check_schedules(&self) -> Check {
        for (name, cron) in &self.crons {
            let owes = cron.owes(self.wall) && !self.maintenance;
            ensure(!owes, Rule::Cron, || format!("{name} did not run"))?;
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

    /// Nothing can have kept this schedule's run out in this step: not an earlier run, nor a queue or
    /// a run too many, nor a quota or a bound, even if all that moved had been in the way when it was due.
    fn must_run(&self, name: &CronName, cron: &Cron, context: &StepContext<'_>) -> bool {
        let ended = context.moves.iter().any(|(_, state)| state.is_terminal());
        let alone = !ended && self.unfinished_runs(name).is_empty();
        let queue = self.queues.get(&cron.queue);
        let bounds = queue.and_then(|queue| queue.bounds);
        let more = context.moves.len() as u64 + 1;
        // These may have gone after the run was left out.
        let gone = context.step.mutations.iter().filter(|mutation| {
            matches!(mutation, Mutation::DropClass(_) | Mutation::Remove(RowKind::Queue, _))
        });
        let gone = more as usize + gone.count();
        let caps = [Capped::ScheduleRuns, Capped::Classes, Capped::KeptClasses];
        let of_queue = queue.is_none().then_some(Capped::Queues);
        let mut caps = caps.into_iter().chain(of_queue);
        let room = caps.all(|capped| self.cap_has_room(capped, &cron.tenant, gone));
        (cron.overlap != Overlap::Skip || alone)
            && room
            && self.quota_has_room(&cron.tenant, more)
            && bounds.is_none_or(|bounds| self.bounds_have_room(cron, bounds, more))
    }

    fn quota_has_room(&self, id: &TenantId, more: u64) -> bool {
        let config = self.tenant(id);
        let depth = self.load(|_, tenant| tenant == id).depth;
        let arrivals = self.tenants.get(id).map_or(&[][..], |tenant| &tenant.arrivals);
        let slow = config.max_enqueue_rate.is_none_or(|rate| {
            let from = self.at as i64 - rate.period_ms as i64;
            let lately = arrivals.iter().filter(|one| one.latest > from).count() as u64;
            lately < u64::from(rate.limit)
        });
        let shallow = config.max_queue_depth.is_none_or(|most| depth + more <= most);
        let bytes = self.stored.of(id) + more * LARGEST_RUN;
        let small = config.max_bytes.is_none_or(|most| bytes <= most);
        config.quota == Some(Quota::Soft) || slow && shallow && small
    }

    fn bounds_have_room(&self, cron: &Cron, bounds: Bounds, more: u64) -> bool {
        let all = self.load(|queue, _| *queue == cron.queue);
        let own = self.load(|queue, tenant| *queue == cron.queue && *tenant == cron.tenant);
        let fits = |is: u64, most: u64| most == 0 || is <= most;
        let drops = bounds.strategy == Backpressure::DropOldest;
        // What can be dropped makes room.
        let ready = if drops { self.ready_of(&cron.queue, None) } else { 0 };
        fits(all.depth - ready + more, bounds.max_depth)
            && fits(all.bytes + more * LARGEST_RUN, bounds.max_bytes)
            && fits(own.depth + more, bounds.tenant_max_depth)
            && fits(own.bytes + more * LARGEST_RUN, bounds.tenant_max_bytes)
    }

    /// A schedule is due that brings a job into this queue.
    pub(super) fn owes_run_of(&self, queue: &QueueName) -> bool {
        self.crons.values().any(|cron| cron.queue == *queue && cron.owes(self.wall))
    }

    /// Somebody triggers a schedule that brings a job into this queue.
    pub(super) fn triggers_run_of(&self, queue: &QueueName, context: &StepContext<'_>) -> bool {
        let Command::TriggerCron { name, .. } = &context.step.command else { return false };
        self.crons.get(name).is_some_and(|cron| cron.queue == *queue)
    }

    /// What was left out is not made up for.
    pub(super) fn settle_left_out(&mut self, context: &StepContext<'_>) {
        let wall = self.wall;
        let left_out = |(name, cron): (&CronName, &Cron)| {
            let owes = !self.maintenance && cron.owes(wall);
            (owes && !self.must_run(name, cron, context)).then(|| name.clone())
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

    /// Every run says where it comes from.
    fn cron_name(&self, row: &NewRow) -> Option<CronName> {
        let body: serde_json::Value =
            serde_json::from_slice(&[b"{", &row.body[..], b"}"].concat()).ok()?;
        let name = CronName::parse(body["metadata"]["cron_name"].as_str()?).ok()?;
        Some(name.of_tenant(&self.classes.get(&row.class)?.tenant))
    }
}
