//! Activating pending jobs, which makes them available.

use rota_model::State;

use crate::effect::Changed;
use crate::scheduler::WaitingJob;
use crate::{Engine, EventKind, Refusal, Reply, Target};

impl Engine {
    pub(crate) fn activate(&mut self, targets: &[Target]) -> Reply {
        Reply::Changed(targets.iter().map(|target| self.activate_one(target)).collect())
    }

    fn activate_one(&mut self, target: &Target) -> Result<Changed, Refusal> {
        let live = match target.live() {
            Some(live) if live.state == State::Pending => live,
            _ => {
                return Err(Refusal::NotPending { state: target.state() });
            }
        };
        self.leave_waiting(live);
        let job = self.job_ref(live.seq, live.class).named(target.id);
        self.emit(EventKind::Enqueued { job, from: Some(State::Pending) });
        self.make_ready(live.seq, live.class, WaitingJob::of(live), false);
        Ok(Changed {
            id: target.id,
            before: State::Pending,
            after: Some(State::Available),
            at: self.wall(),
        })
    }
}
