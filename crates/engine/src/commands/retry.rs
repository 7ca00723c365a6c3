//! Retrying finished jobs on request.

use rota_model::mutation::Mutation;
use rota_model::row::JobRow;
use rota_model::{Ending, State};

use crate::effect::Changed;
use crate::scheduler::{Size, WaitingJob};
use crate::{Engine, EventKind, Refusal, Reply, Target};

impl Engine {
    pub(crate) fn retry(&mut self, targets: &[Target]) -> Reply {
        Reply::Changed(targets.iter().map(|target| self.retry_one(target)).collect())
    }

    fn retry_one(&mut self, target: &Target) -> Result<Changed, Refusal> {
        let done = match &target.now {
            JobRow::Done(done) if done.ending != Ending::Completed => done,
            row => {
                return Err(Refusal::NotRetryable { state: row.state() });
            }
        };
        let (seq, class) = (done.seq, done.class);
        let about = self.classes.slot(class).class.clone();
        self.check_classes(std::iter::once(&*about))?;
        // The queue may have been deleted; this creates it again.
        self.queue_ix(&about.queue, Some(&about.tenant))?;
        self.classes.count_forgotten(class, done.ending);
        self.class_gained_job(class);
        self.count_kept(class, |kept| *kept.get_mut(done.ending) -= 1);
        self.out.mutations.push(Mutation::Revive { seq, enqueued: self.wall() });
        let size = Size::of(u64::from(done.bytes));
        self.enter_lane(seq, class, WaitingJob { fresh: false, ..WaitingJob::fresh(size) });
        let job = self.job_ref(seq, class).named(target.id);
        self.emit(EventKind::Enqueued { job, from: Some(done.ending.state()) });
        Ok(Changed {
            id: target.id,
            before: done.ending.state(),
            after: Some(State::Available),
            at: self.wall(),
        })
    }
}
