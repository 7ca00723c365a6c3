//! Cancelling jobs, waiting or active.

use rota_model::{Ending, State};

use crate::effect::Changed;
use crate::{Engine, EventKind, Refusal, Reply, Target};

impl Engine {
    pub(crate) fn cancel(&mut self, targets: &[Target]) -> Reply {
        Reply::Changed(targets.iter().map(|target| self.cancel_one(target)).collect())
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
