//! Deleting jobs, on request and by retention.

use rota_model::mutation::Mutation;
use rota_model::row::{JobRow, Overdue};
use rota_model::{Done, Ending};

use crate::effect::Changed;
use crate::{Engine, EventKind, Refusal, Reply, Target, Unchanged};

impl Engine {
    pub(crate) fn delete(&mut self, targets: &[Target]) -> Reply {
        Reply::Changed(targets.iter().map(|target| self.delete_one(target)).collect())
    }

    pub(crate) fn delete_only(&mut self, targets: &[Target], only: Unchanged) -> Reply {
        let delete = |target: &Target| only.check(target).and_then(|()| self.delete_one(target));
        Reply::Changed(targets.iter().map(delete).collect())
    }

    /// Deletes finished jobs whose retention period has passed.
    pub(crate) fn forget(&mut self, overdue: &Overdue) -> Reply {
        overdue.jobs.iter().for_each(|done| self.delete_done(done));
        if let Some(through) = overdue.through {
            self.out.mutations.push(Mutation::Purged(through));
        }
        Reply::Forgotten(overdue.jobs.len())
    }

    fn delete_one(&mut self, target: &Target) -> Result<Changed, Refusal> {
        if self.active.get(target.seq).is_some() {
            return Err(Refusal::StillActive);
        }
        match &target.now {
            JobRow::Live(live) => {
                let live = self.waiting_job(target).unwrap_or_else(|| live.clone());
                let job = self.job_ref(live.seq, live.class).named(target.id);
                self.emit(EventKind::Deleted { job, before: target.state() });
                self.leave_waiting(&live);
                self.deadlines.remove(live.seq);
                self.cron_run_ended(live.seq);
                self.classes.count_deleted(live.class);
                self.class_lost_job(live.class);
                self.out.mutations.push(Mutation::Delete(live.seq));
            }
            JobRow::Done(done) => {
                self.delete_done(done);
                if done.ending == Ending::DeadLetter {
                    let job = self.job_ref(done.seq, done.class).named(target.id);
                    self.emit(EventKind::DeadLetterDeleted { job });
                }
            }
        }
        Ok(Changed { id: target.id, before: target.state(), after: None, at: self.wall() })
    }

    pub(crate) fn delete_done(&mut self, done: &Done) {
        self.unbury(done);
        self.classes.count_forgotten(done.class, done.ending);
        self.count_kept(done.class, |kept| *kept.get_mut(done.ending) -= 1);
        self.out.mutations.push(Mutation::Delete(done.seq));
    }
}
