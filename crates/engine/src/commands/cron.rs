//! Commands on recurring schedules, and starting the runs that are due.

use std::sync::Arc;

use rota_model::envelope::{self, NewJob};
use rota_model::mutation::{Mutation, RowKind};
use rota_model::{ClassId, CronName, Ending, JobId, Millis, Seq, State};

use super::enqueue::EnqueuedBy;
use crate::admission::Obstacle;
use crate::cron::{Cron, CronState, Overlap};
use crate::scheduler::WaitingJob;
use crate::{
    Accepted, CapReached, Capped, CronExecution, CronSpec, Engine, EventKind, Refusal, Reply,
};

/// Why a schedule cannot run.
enum NoRun {
    /// The policy is [`Overlap::Skip`], and this run has not ended.
    Unfinished(Seq),
    /// The run's local time does not exist (DST).
    NoSuchTime,
    TooManyRuns(CapReached),
    NotAdmitted(Obstacle),
}

impl NoRun {
    /// The reason that is reported when a due run is skipped.
    fn skip_reason(&self) -> &'static str {
        match self {
            NoRun::Unfinished(_) => "overlap_skip",
            NoRun::NoSuchTime => "dst_skip",
            NoRun::TooManyRuns(_) => "too_many_runs",
            NoRun::NotAdmitted(Obstacle::Refused(Refusal::CapReached(reached))) => {
                match reached.capped {
                    Capped::Tenants => "too_many_tenants",
                    Capped::Queues => "too_many_queues",
                    Capped::Classes | Capped::KeptClasses => "too_many_classes",
                    _ => "quota_exceeded",
                }
            }
            NoRun::NotAdmitted(_) => "quota_exceeded",
        }
    }

    fn unfinished_run(&self) -> Option<Seq> {
        match self {
            NoRun::Unfinished(seq) => Some(*seq),
            _ => None,
        }
    }
}

impl From<NoRun> for Refusal {
    fn from(no_run: NoRun) -> Self {
        match no_run {
            NoRun::Unfinished(run) => Refusal::RunUnfinished { run },
            NoRun::NoSuchTime => unreachable!("only due runs have such times"),
            NoRun::TooManyRuns(reached) => reached.into(),
            NoRun::NotAdmitted(Obstacle::Full(refusal) | Obstacle::Refused(refusal)) => refusal,
        }
    }
}

impl Engine {
    pub(crate) fn put_cron(&mut self, spec: &CronSpec) -> Reply {
        let tenant = &spec.class.tenant;
        if let Err(refusal) = self.check_shared_key(&spec.class, spec.proven) {
            return Reply::Refused(refusal);
        }
        let created = self.crons.get(&spec.name).is_none();
        if created {
            let capped = self.crons.check_cap(self.asker(Some(tenant)));
            // Its runs would be refused, too.
            if let Err(reached) = capped.and_then(|()| self.check_tenant(Some(tenant))) {
                return Reply::Refused(reached.into());
            }
        }
        let mut cron = Cron::new(spec, self.wall());
        let old = self.crons.get(&spec.name);
        if let Some(old) = old {
            cron.row.created = old.row.created;
            cron.state = CronState { enabled: spec.enabled, ..old.state.clone() };
            cron.plan(self.wall());
        }
        let old_bytes = old.map_or(0, |old| old.row_bytes);
        let json = cron.stored_row();
        let more_bytes = (json.len() as u64).saturating_sub(old_bytes);
        if let Err(refusal) = self.check_schedule_bytes(tenant, more_bytes) {
            return Reply::Refused(refusal);
        }
        if let Some(mut old) = self.crons.take(&spec.name) {
            self.count_schedule(&mut old, 0);
            cron.runs = old.runs;
            if spec.overlap != Overlap::Enqueue {
                self.release_all_held(&cron);
            }
        }
        let view = Box::new(cron.view(&spec.name));
        self.count_schedule(&mut cron, json.len() as u64);
        self.out.mutations.push(Mutation::Put(RowKind::Cron, (*spec.name).into(), json.into()));
        self.save_cron_state(spec.name.clone(), cron);
        Reply::Cron { cron: view, created }
    }

    pub(crate) fn remove_cron(&mut self, name: &CronName) -> Reply {
        let Some(mut cron) = self.crons.take(name) else {
            return Reply::Refused(Refusal::UnknownCron);
        };
        self.count_schedule(&mut cron, 0);
        self.release_all_held(&cron);
        self.crons.forget_runs(&cron);
        cron.runs.iter().for_each(|seq| self.remove_run(*seq));
        for kind in [RowKind::Cron, RowKind::CronState] {
            self.out.mutations.push(Mutation::Remove(kind, (**name).into()));
        }
        Reply::Cron { cron: Box::new(cron.view(name)), created: false }
    }

    pub(crate) fn enable_cron(&mut self, name: &CronName, enabled: bool) -> Reply {
        let Some(mut cron) = self.crons.take(name) else {
            return Reply::Refused(Refusal::UnknownCron);
        };
        cron.state.enabled = enabled;
        cron.plan(self.wall());
        let view = Box::new(cron.view(name));
        self.save_cron_state(name.clone(), cron);
        Reply::Cron { cron: view, created: false }
    }

    /// Starts a run now. The overlap policy and all quotas apply. A run that is due stays due.
    pub(crate) fn trigger_cron(&mut self, name: CronName) -> Reply {
        if self.crons.get(&name).is_none() {
            return Reply::Refused(Refusal::UnknownCron);
        }
        let now = self.wall();
        let (job, class) = match self.next_run(&name, now) {
            Ok(run) => run,
            Err(no_run) => return Reply::Refused(no_run.into()),
        };
        let accepted = self.run_cron(&name, job, class, now);
        let mut cron = self.crons.take(&name).expect("the schedule exists");
        cron.state.run_count += 1;
        cron.state.last_run = Some(now);
        cron.state.history.add(CronExecution::ran(now, accepted.seq, accepted.id, true));
        if cron.wake_at().is_none_or(|due| due > now) {
            cron.plan(now);
        }
        let view = Box::new(cron.view(&name));
        self.save_cron_state(name, cron);
        Reply::Triggered { cron: view, job: Box::new(accepted) }
    }

    /// Handles one due schedule: enqueues its run, and reports runs whose local time does not
    /// exist. Any number of missed occurrences are made up for by one run.
    pub(crate) fn trigger_one_cron(&mut self) -> bool {
        let Some(name) = self.crons.due(self.wall()) else {
            return false;
        };
        let mut executions = self.report_dst_skips(&name);
        let cron = self.crons.get(&name).expect("a due schedule exists");
        let due = cron.state.next_run.filter(|at| *at <= self.wall());
        if let Some(scheduled_for) = due {
            executions.push(match self.next_run(&name, scheduled_for) {
                Ok((job, class)) => {
                    let accepted = self.run_cron(&name, job, class, scheduled_for);
                    CronExecution::ran(scheduled_for, accepted.seq, accepted.id, false)
                }
                Err(no_run) => self.skip_run(&name, &no_run, scheduled_for),
            });
        }
        let mut cron = self.crons.take(&name).expect("a due schedule exists");
        for execution in executions {
            let count = match execution.skipped {
                Some(_) => &mut cron.state.skip_count,
                None => &mut cron.state.run_count,
            };
            *count += 1;
            cron.state.history.add(execution);
        }
        cron.state.last_run = due.or(cron.state.last_run);
        cron.plan(self.wall());
        self.save_cron_state(name, cron);
        true
    }

    /// Creates the job of a run and admits it.
    fn next_run(
        &mut self,
        name: &CronName,
        scheduled_for: Millis,
    ) -> Result<(NewJob, ClassId), NoRun> {
        let id = self.new_job_id();
        let cron = self.crons.get(name).expect("the schedule exists");
        if let (Overlap::Skip, Some(&seq)) = (cron.row.overlap, cron.runs.last()) {
            return Err(NoRun::Unfinished(seq));
        }
        let replaces = cron.row.overlap == Overlap::CancelPrevious && !cron.runs.is_empty();
        let asker = self.asker(Some(&cron.row.class.tenant));
        if !replaces {
            self.crons.check_run_cap(asker).map_err(NoRun::TooManyRuns)?;
        }
        let job = NewJob {
            id,
            id_given: false,
            class: cron.row.class.clone(),
            start_at: None,
            expires: None,
            pending: false,
            proven: cron.row.proven,
            body: envelope::body_of_run(&cron.row.body, name, scheduled_for),
        };
        self.admit(std::slice::from_ref(&job)).map_err(NoRun::NotAdmitted)?;
        let class = self.class_id(&job.class);
        let class = class.map_err(|refusal| NoRun::NotAdmitted(Obstacle::Refused(refusal)))?;
        Ok((job, class))
    }

    fn new_job_id(&mut self) -> JobId {
        let random =
            u128::from(self.entropy.next_u64()) << 64 | u128::from(self.entropy.next_u64());
        JobId::v7(self.wall().0, random)
    }

    fn run_cron(
        &mut self,
        name: &CronName,
        job: NewJob,
        class: ClassId,
        scheduled_for: Millis,
    ) -> Accepted {
        let cron = self.crons.get(name).expect("the schedule exists");
        let overlap = cron.row.overlap;
        let (expression, run_count) =
            (cron.row.expression.as_str().into(), cron.state.run_count + 1);
        let earlier: Vec<Seq> = match overlap {
            Overlap::CancelPrevious => cron.runs.iter().copied().collect(),
            _ => Vec::new(),
        };
        let held = overlap == Overlap::Enqueue && !cron.runs.is_empty();
        earlier.into_iter().for_each(|seq| self.cancel_run(seq));
        let accepted = self.accept(job, class, EnqueuedBy::Schedule { held });
        self.crons.add_run(name, accepted.seq);
        self.put(RowKind::CronRun, &accepted.seq.to_string(), name);
        let job = self.job_ref(accepted.seq, class).named(accepted.id);
        let cron = name.clone();
        self.emit(EventKind::CronTriggered { cron, expression, job, scheduled_for, run_count });
        accepted
    }

    /// A run has ended. With `Overlap::Enqueue`, the next held run is released.
    pub(crate) fn cron_run_ended(&mut self, seq: Seq) {
        if !self.crons.is_run(seq) {
            return;
        }
        self.remove_run(seq);
        if let Some(next) = self.crons.end_run(seq) {
            self.release_held(next);
        }
    }

    fn remove_run(&mut self, seq: Seq) {
        self.out.mutations.push(Mutation::Remove(RowKind::CronRun, seq.to_string().into()));
    }

    /// Releases the held runs of a schedule that was removed or no longer holds runs back.
    fn release_all_held(&mut self, cron: &Cron) {
        for &seq in &cron.runs {
            self.release_held(seq);
        }
    }

    fn release_held(&mut self, seq: Seq) {
        let Some(live) = self.deadlines.get_mut(seq).filter(|live| live.is_held()) else {
            return;
        };
        let (class, waiting) = (live.class, WaitingJob::of(live));
        self.count_out(class, State::Available, waiting.size);
        let job = self.job_ref(seq, class);
        // No event has told of this run yet.
        self.emit(EventKind::Enqueued { job, from: None });
        self.make_ready(seq, class, waiting, false);
    }

    fn cancel_run(&mut self, seq: Seq) {
        let (class, attempt, before) = if let Some(active) = self.active.remove(seq) {
            self.release(&active);
            (active.class, active.attempt, State::Active)
        } else {
            let Some(live) = self.deadlines.remove(seq) else {
                return;
            };
            self.leave_waiting(&live);
            (live.class, live.attempt, live.state)
        };
        self.end(seq, class, Ending::Cancelled, None);
        let job = self.job_ref(seq, class);
        self.emit(EventKind::Cancelled { job, attempt, before });
    }

    fn save_cron_state(&mut self, name: CronName, cron: Cron) {
        self.put(RowKind::CronState, &name, &cron.state);
        self.crons.insert(name, cron);
    }

    /// Reports runs whose local time does not exist (DST).
    fn report_dst_skips(&mut self, name: &CronName) -> Vec<CronExecution> {
        let cron = self.crons.get(name).expect("a due schedule exists");
        let skipped = cron.skipped(self.wall()).into_iter();
        skipped.map(|time| self.skip_run(name, &NoRun::NoSuchTime, time)).collect()
    }

    fn skip_run(&mut self, name: &CronName, why: &NoRun, scheduled_for: Millis) -> CronExecution {
        let (reason, existing) = (why.skip_reason(), why.unfinished_run());
        let cron = self.crons.get(name).expect("a due schedule exists");
        self.emit(EventKind::CronSkipped {
            cron: name.clone(),
            expression: Arc::from(&*cron.row.expression),
            class: Arc::new(cron.row.class.clone()),
            reason,
            existing,
            scheduled_for,
        });
        CronExecution::skipped(scheduled_for, reason)
    }
}
