//! Cancelling jobs, waiting or active: at once, or by asking the worker.

use rota_model::mutation::Mutation;
use rota_model::{Ending, Seq, State};

use crate::active::Active;
use crate::effect::Changed;
use crate::{Engine, EventKind, Refusal, Reply, Target};

impl Engine {
    pub(crate) fn cancel(&mut self, targets: &[Target]) -> Reply {
        Reply::Changed(targets.iter().map(|target| self.cancel_one(target)).collect())
    }

    pub(crate) fn request_cancel(&mut self, targets: &[Target]) -> Reply {
        Reply::Changed(targets.iter().map(|target| self.request_one(target)).collect())
    }

    /// An active job stays active until its worker ends the execution or is lost.
    fn request_one(&mut self, target: &Target) -> Result<Changed, Refusal> {
        let seq = target.seq;
        if self.active.get(seq).is_none() {
            return self.cancel_one(target);
        }
        if self.active.request_cancel(seq) {
            self.out.mutations.push(Mutation::RequestCancel(seq));
        }
        let (before, after) = (State::Active, Some(State::Active));
        Ok(Changed { id: target.id, before, after, at: self.wall() })
    }

    /// Ends an execution that was to be cancelled. Its slots have been released.
    pub(crate) fn end_as_cancelled(&mut self, seq: Seq, active: &Active) {
        self.end(seq, active.class, Ending::Cancelled, None);
        let job = self.job_ref(seq, active.class);
        let (attempt, before) = (active.attempt, State::Active);
        self.emit(EventKind::Cancelled { job, attempt, before });
    }

    fn cancel_one(&mut self, target: &Target) -> Result<Changed, Refusal> {
        let seq = target.seq;
        let (class, attempt, before) = if let Some(active) = self.active.remove(seq) {
            self.release(&active);
            (active.class, active.attempt, State::Active)
        } else {
            let Some(live) = self.waiting_job(target) else {
                return Err(Refusal::Terminal { state: target.state() });
            };
            self.leave_waiting(&live);
            (live.class, live.attempt, live.state)
        };
        self.end(seq, class, Ending::Cancelled, None);
        let job = self.job_ref(seq, class).named(target.id);
        self.emit(EventKind::Cancelled { job, attempt, before });
        Ok(Changed { id: target.id, before, after: Some(State::Cancelled), at: self.wall() })
    }
}
