//! Retrying finished jobs on request.

use rota_model::mutation::{Mutation, Rewrite};
use rota_model::row::JobRow;
use rota_model::{Class, ClassId, Done, Ending, JobId, State};

use crate::command::Override;
use crate::effect::Changed;
use crate::scheduler::{Size, WaitingJob};
use crate::{Engine, EventKind, Refusal, Reply, Target, Unchanged};

impl Engine {
    pub(crate) fn retry(&mut self, targets: &[Target]) -> Reply {
        Reply::Changed(targets.iter().map(|target| self.retry_one(target, None)).collect())
    }

    pub(crate) fn retry_only(&mut self, targets: &[Target], only: Unchanged) -> Reply {
        let retry =
            |target: &Target| only.check(target).and_then(|()| self.retry_one(target, None));
        Reply::Changed(targets.iter().map(retry).collect())
    }

    /// Retries a job with another class and body.
    pub(crate) fn retry_as(&mut self, targets: &[Target], change: &Override) -> Reply {
        let retry = |target| self.retry_one(target, Some(change));
        Reply::Changed(targets.iter().map(retry).collect())
    }

    fn retry_one(
        &mut self,
        target: &Target,
        change: Option<&Override>,
    ) -> Result<Changed, Refusal> {
        let done = match &target.now {
            JobRow::Done(done) if done.ending != Ending::Completed => done,
            row => {
                return Err(Refusal::NotRetryable { state: row.state() });
            }
        };
        let class = self.revive(done, target.id, change)?;
        if done.ending == Ending::DeadLetter {
            self.meter(done.class).dead_retried += 1;
            let job = self.job_ref(done.seq, class).named(target.id);
            self.emit(EventKind::DeadLetterRetried { job });
        }
        Ok(Changed {
            id: target.id,
            before: done.ending.state(),
            after: Some(State::Available),
            at: self.wall(),
        })
    }

    /// Makes a finished job available again. Returns its class from now on.
    pub(crate) fn revive(
        &mut self,
        done: &Done,
        id: JobId,
        change: Option<&Override>,
    ) -> Result<ClassId, Refusal> {
        let (seq, before) = (done.seq, done.class);
        let about = self.classes.slot(before).class.clone();
        let limit = about.policy.limit.clone();
        let changed = change.map(|change| {
            // The job stays its tenant's.
            Class { tenant: about.tenant.clone(), ..change.class.clone() }
        });
        let about = changed.as_ref().unwrap_or(&about);
        if let Some(change) = change.filter(|_| about.policy.limit != limit) {
            self.check_shared_key(about, change.proven)?;
        }
        self.check_classes(std::iter::once(about))?;
        // The queue may have been deleted; this creates it again.
        let class = match change {
            None => {
                self.queue_ix(&about.queue, Some(&about.tenant))?;
                before
            }
            Some(_) => self.class_id(about)?,
        };
        self.classes.count_forgotten(before, done.ending);
        self.class_gained_job(class);
        self.count_kept(before, |kept| *kept.get_mut(done.ending) -= 1);
        self.unbury(done);
        self.out.mutations.push(Mutation::Revive { seq, enqueued: self.wall() });
        let mut bytes = u64::from(done.bytes);
        if let Some(Override { body, .. }) = change {
            bytes = body.len() as u64;
            self.count_stored(class, body.len());
            let rewrite = Rewrite { seq, class, body: body.clone() };
            self.out.mutations.push(Mutation::Rewrite(Box::new(rewrite)));
        }
        let waiting = WaitingJob { fresh: false, ..WaitingJob::fresh(Size::of(bytes)) };
        self.enter_lane(seq, class, waiting);
        let job = self.job_ref(seq, class).named(id);
        self.emit(EventKind::Enqueued { job, from: Some(done.ending.state()) });
        Ok(class)
    }
}
