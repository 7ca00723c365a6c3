//! Accepting jobs.

use rota_model::envelope::NewJob;
use rota_model::mutation::{Mutation, NewRow};
use rota_model::{Class, ClassId, Live, Seq, State};

use crate::timers::Timer;
use crate::{Accepted, Engine, EventKind, Refusal, Reply};

/// Where a job comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Client,
    /// A schedule. A held run is ready, but stays out of its lane until the one before it is over.
    Run {
        held: bool,
    },
}

impl Engine {
    /// All jobs or none: everything that could refuse one is asked before the first is accepted.
    pub(crate) fn enqueue(&mut self, jobs: Vec<NewJob>) -> Reply {
        let mut classes = Vec::with_capacity(jobs.len());
        if let Err(refusal) = self.check_queues(&jobs) {
            return Reply::Refused(refusal);
        }
        for job in &jobs {
            match self.class_id(&job.class) {
                Ok(class) => classes.push(class),
                Err(refusal) => return Reply::Refused(refusal),
            }
        }
        let accept = |(job, class)| self.accept(job, class, Origin::Client);
        Reply::Enqueued(jobs.into_iter().zip(classes).map(accept).collect())
    }

    /// Interns the class, making its queue where it is new.
    pub(crate) fn class_id(&mut self, class: &Class) -> Result<ClassId, Refusal> {
        if let Some(id) = self.classes.find(class) {
            return Ok(id);
        }
        let ix = self.queue_ix(&class.queue)?;
        let (id, class) = self.classes.add(class.clone(), ix);
        self.out.mutations.push(Mutation::Class(id, class));
        Ok(id)
    }

    /// Takes in one job.
    pub(crate) fn accept(&mut self, job: NewJob, class: ClassId, origin: Origin) -> Accepted {
        let held = origin == Origin::Run { held: true };
        let seq = self.next_seq;
        self.next_seq = Seq(seq.0 + 1);
        let created = self.wall();
        let due = job.start_at.filter(|at| *at > created);
        let state = match (job.pending, due) {
            (true, _) => State::Pending,
            (false, Some(_)) => State::Scheduled,
            (false, None) => State::Available,
        };
        let live = Live {
            state,
            due: if state == State::Scheduled { due } else { None },
            expires: job.expires,
            held,
            ..Live::ready(seq, class, created)
        };
        if live.expires.is_some() || origin != Origin::Client {
            self.watch.add(live.clone());
        }
        let id = if job.id_given { job.id } else { job.id.seal(self.id_key, seq) };
        let given = job.id_given;
        let row = NewRow { seq, id, given, class, created, body: job.body.clone() };
        self.out.mutations.push(Mutation::Insert(row, live));
        self.classes.slot_mut(class).live += 1;
        self.seq_clock.note(seq, created);
        let ix = self.classes.slot(class).queue;
        self.queues.get_mut(ix).stats.minute.enqueued += 1;
        self.total.minute.enqueued += 1;

        match (state, due) {
            (State::Scheduled, Some(due)) => {
                let event = self.job_ref(seq, class).named(id);
                self.emit(EventKind::Scheduled { job: event, due });
                self.wait_until(due, seq, Timer { class, attempt: 0, state });
            }
            (State::Available, _) if !held => {
                let event = self.job_ref(seq, class).named(id);
                self.emit(EventKind::Enqueued { job: event });
                self.enter_lane(seq, class, 0, true);
            }
            _ => self.queues.get_mut(ix).enter(state),
        }
        Accepted { seq, id, id_given: given, state, created, body: job.body }
    }

    fn check_queues(&self, jobs: &[NewJob]) -> Result<(), Refusal> {
        let unknown = |job: &&NewJob| self.queues.find(&job.class.queue).is_none();
        let mut new: Vec<_> = jobs.iter().filter(unknown).map(|job| &job.class.queue).collect();
        new.sort_unstable();
        new.dedup();
        if self.queues.len() + new.len() > self.config.max_queues {
            return Err(Refusal::TooManyQueues { limit: self.config.max_queues });
        }
        Ok(())
    }
}
