//! Changing the priority of waiting jobs.

use bytes::Bytes;
use rota_model::mutation::{Mutation, Rewrite};
use rota_model::{Class, ClassId, Live, State};

use crate::command::{NewPriority, SeenJob};
use crate::effect::Changed;
use crate::scheduler::{Size, WaitingJob};
use crate::timers::Timer;
use crate::{Engine, EventKind, Refusal, Reply, Target};

impl Engine {
    pub(crate) fn set_priority(&mut self, targets: &[Target], new: &NewPriority) -> Reply {
        Reply::Changed(targets.iter().map(|target| self.set_priority_of(target, new)).collect())
    }

    /// The job moves to the lane of its new class, where it is in the order of its number: before all jobs
    /// of that priority that were enqueued after it.
    fn set_priority_of(&mut self, target: &Target, new: &NewPriority) -> Result<Changed, Refusal> {
        if self.active.get(target.seq).is_some() {
            return Err(Refusal::NotWaiting { state: State::Active });
        }
        let (Some(stored), Some(live)) = (target.live(), self.waiting_job(target)) else {
            return Err(Refusal::NotWaiting { state: target.state() });
        };
        // The specification fixes the priority of a job that is to be tried again (ojs-priority 8.1).
        if live.state == State::Retryable {
            return Err(Refusal::NotWaiting { state: live.state });
        }
        if SeenJob::of(stored) != new.seen {
            return Err(Refusal::NoLongerSelected { state: live.state });
        }
        let old = self.classes.slot(live.class).class.clone();
        if old.priority != new.priority {
            let class = Class { priority: new.priority, ..Class::clone(&old) };
            self.check_classes(std::iter::once(&class))?;
            let class = self.class_id(&class)?;
            self.change_class(&live, class, new.body.clone());
            let job = self.job_ref(live.seq, class).named(target.id);
            self.emit(EventKind::PriorityChanged { job, previous: old.priority });
        }
        let (before, after) = (live.state, Some(live.state));
        Ok(Changed { id: target.id, before, after, at: self.wall() })
    }

    /// Moves a waiting job to a class that differs in its priority only.
    fn change_class(&mut self, live: &Live, class: ClassId, body: Bytes) {
        let (seq, old) = (live.seq, live.class);
        let changed = Live { class, bytes: body.len() as u32, ..live.clone() };
        let size = Size::of(u64::from(changed.bytes));
        self.class_gained_job(class);
        self.count_out(old, live.state, Size::of(u64::from(live.bytes)));
        self.count_in(class, live.state, size);
        if let (State::Scheduled, Some(due)) = (live.state, live.due) {
            let timer = self.timers.remove(due, seq);
            debug_assert!(timer.is_some(), "a job that waits for a time has a timer");
            timer.into_iter().for_each(|timer| {
                self.timers.add(due, seq, Timer { class, size, ..timer });
            });
        }
        self.scheduler.change_class(seq, old, class, WaitingJob::of(&changed));
        self.classes.count_deleted(old);
        self.class_lost_job(old);
        if let Some(row) = self.deadlines.get_mut(seq) {
            *row = changed;
        }
        self.count_stored(class, body.len());
        let rewrite = Rewrite { seq, class, body };
        self.out.mutations.push(Mutation::Rewrite(Box::new(rewrite)));
    }
}
