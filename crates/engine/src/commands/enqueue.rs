//! Enqueueing: accepting new jobs from clients and schedules.

use rota_model::envelope::NewJob;
use rota_model::mutation::{Mutation, NewRow};
use rota_model::{ClassId, Live, Seq, State};

use crate::admission::{Obstacle, single_tenant};
use crate::scheduler::{Size, WaitingJob};
use crate::tenant::Tally;
use crate::timers::Timer;
use crate::{Accepted, Admission, Engine, Enqueue, EventKind, Reply};

/// Who enqueues a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnqueuedBy {
    Client,
    /// A schedule. A held run is available, but enters its lane only when the run before it has
    /// ended.
    Schedule {
        held: bool,
    },
}

impl Engine {
    /// Accepts all jobs or none: every check is made before the first job is accepted.
    pub(crate) fn enqueue(&mut self, enqueue: Enqueue) -> Reply {
        let jobs = enqueue.jobs;
        let over_quota = match (self.admit(&jobs), enqueue.wait) {
            (Ok(over_quota), _) => over_quota,
            (Err(Obstacle::Full(refusal)), Some((id, ms))) if ms > 0 && !self.closing => {
                let tenant = single_tenant(&jobs);
                if let Err(reached) = self.waiting_enqueues.check_cap(self.asker(tenant)) {
                    self.count_rejected(refusal, &jobs);
                    return Reply::Refused(reached.into());
                }
                self.wait_for_room(id, jobs, ms);
                return Reply::Waiting;
            }
            (Err(Obstacle::Full(refusal)), _) => {
                return Reply::Refused(self.count_rejected(refusal, &jobs));
            }
            (Err(Obstacle::Refused(refusal)), _) => return Reply::Refused(refusal),
        };
        self.accept_all(jobs, over_quota)
    }

    /// Accepts jobs that passed admission. `over_quota` names the soft limits they exceed.
    pub(crate) fn accept_all(&mut self, jobs: Vec<NewJob>, over_quota: Vec<&'static str>) -> Reply {
        let mut classes = Vec::with_capacity(jobs.len());
        for job in &jobs {
            match self.class_id(&job.class) {
                Ok(class) => classes.push(class),
                Err(refusal) => return Reply::Refused(refusal),
            }
        }
        let mut queues: Vec<_> = classes.iter().map(|id| self.classes.slot(*id).queue).collect();
        queues.dedup();
        let limited =
            jobs.iter().zip(&classes).rev().find(|(job, _)| job.class.policy.limit.is_some());
        let limited = limited.map(|(_, class)| *class);
        let accept = |(job, class)| self.accept(job, class, EnqueuedBy::Client);
        let jobs = jobs.into_iter().zip(classes).map(accept).collect();
        let limit = limited.and_then(|class| self.limit_status(class));
        let pressure = self.pressure_of(&queues);
        let pressure = pressure.map(|pressure| self.pressure_in_jobs(pressure, &queues));
        Reply::Enqueued(Admission { jobs, over_quota, pressure, limit })
    }

    pub(crate) fn accept(
        &mut self,
        job: NewJob,
        class: ClassId,
        enqueued_by: EnqueuedBy,
    ) -> Accepted {
        let held = enqueued_by == EnqueuedBy::Schedule { held: true };
        let seq = self.next_seq;
        self.next_seq = Seq(seq.0 + 1);
        let created = self.wall();
        let due = job.start_at.filter(|at| *at > created);
        let state = match (job.pending, due) {
            (true, _) => State::Pending,
            (false, Some(_)) => State::Scheduled,
            (false, None) => State::Available,
        };
        let size = Size::of(job.body.len() as u64);
        let live = Live {
            state,
            due: if state == State::Scheduled { due } else { None },
            expires: job.expires,
            marked: held,
            ..Live::ready(seq, class, created, job.body.len() as u32)
        };
        if live.expires.is_some() || enqueued_by != EnqueuedBy::Client {
            self.deadlines.add(live.clone());
        }
        let id = if job.id_given { job.id } else { job.id.seal(self.id_key, seq) };
        let given = job.id_given;
        if given {
            self.refuse_waiting_duplicates(id);
        }
        let row = NewRow { seq, id, given, class, created, body: job.body.clone() };
        self.out.mutations.push(Mutation::Insert(row, live.into()));
        self.count_stored(class, job.body.len());
        self.class_gained_job(class);
        self.seq_clock.note(seq, created);
        let slot = self.classes.slot(class);
        let (ix, tenant) = (slot.queue, slot.tenant);
        self.record(ix, |minute| minute.enqueued += 1);
        self.meter(class).enqueued += 1;
        self.tally(tenant, Tally { enqueued: 1, ..Tally::default() });
        self.tenant_delta(tenant).bytes += job.body.len() as u64;
        self.count_enqueued(tenant, 1, self.now.mono as i64);

        match (state, due) {
            (State::Scheduled, Some(due)) => {
                let event = self.job_ref(seq, class).named(id);
                self.emit(EventKind::Scheduled { job: event, due, from: None });
                self.wait_until(due, seq, Timer { class, attempt: 0, pauses: 0, size, state });
            }
            (State::Available, _) if !held => {
                let event = self.job_ref(seq, class).named(id);
                self.emit(EventKind::Enqueued { job: event, from: None });
                self.enter_lane(seq, class, WaitingJob::fresh(size));
            }
            _ => self.count_in(class, state, size),
        }
        Accepted { seq, id, id_given: given, state, created, body: job.body }
    }
}
