//! Jobs whose limit is reached and which do not wait for it: they are dropped or rescheduled.

use rota_model::mutation::Mutation;
use rota_model::{Ending, Millis, OnLimit, Seq, State};

use crate::scheduler::{Forward, Swept, WaitingJob};
use crate::timers::Timer;
use crate::{Engine, EventKind};

/// Jobs swept or brought forward right after the command that caused it.
const AT_ONCE: usize = 64;

impl Engine {
    /// Sweeps a few jobs at once, so the next request sees the result. The rest is done by ticks,
    /// so no request waits for a million jobs to be dropped.
    pub(crate) fn sweep_a_few(&mut self) {
        for _ in 0..AT_ONCE {
            if !self.sweep_one() && !self.bring_forward_one() {
                return;
            }
        }
    }

    /// Drops or reschedules one job; false if there is none.
    pub(crate) fn sweep_one(&mut self) -> bool {
        if !self.scheduler.is_sweeping() {
            return false;
        }
        let Some(swept) = self.scheduler.next_swept() else { return false };
        self.count_out(swept.class, State::Available, swept.job.size);
        let policy = self.classes.slot(swept.class).class.policy.clone();
        match policy.limit.as_ref().map(|limit| limit.on_limit) {
            Some(OnLimit::Drop) => self.drop_limited(&swept),
            _ => self.reschedule(&swept),
        }
        true
    }

    fn drop_limited(&mut self, swept: &Swept) {
        let (seq, class) = (swept.seq, swept.class);
        self.end(seq, class, Ending::Discarded, None);
        let limits = self.scheduler.limits();
        let partition = limits.limit(limits.gate(swept.gate).limit).partition.clone();
        let (key, tenant) = (partition.key, partition.tenant);
        let dropped = self.job_ref(seq, class);
        self.emit(EventKind::LimitDropped { key, tenant, job: dropped.clone() });
        let (attempt, reason) = (swept.job.attempt, "dropped_by_rate_limit");
        let (error, from) = (bytes::Bytes::new(), State::Available);
        self.emit(EventKind::Discarded { job: dropped, attempt, reason, error, from });
    }

    fn reschedule(&mut self, swept: &Swept) {
        let due = self.scheduler.book(swept, self.config.reschedule_ms, self.wall());
        let WaitingJob { attempt, pauses, size, .. } = swept.job;
        let (class, state) = (swept.class, State::Scheduled);
        let timer = Timer { class, attempt, pauses, size, state };
        self.schedule_again(due, swept.seq, timer, State::Available);
    }

    /// Makes one rescheduled job due earlier; false if there is none.
    pub(crate) fn bring_forward_one(&mut self) -> bool {
        let Some(Forward { seq, old_due, due }) = self.scheduler.bring_forward(self.wall()) else {
            return false;
        };
        let timer = self.timers.remove(old_due, seq);
        debug_assert!(timer.is_some(), "a rescheduled job has a timer");
        if let Some(timer) = timer {
            self.count_out(timer.class, timer.state, timer.size);
            self.schedule_again(due, seq, timer, State::Scheduled);
        }
        true
    }

    fn schedule_again(&mut self, due: Millis, seq: Seq, timer: Timer, from: State) {
        self.out.mutations.push(Mutation::Postpone { seq, due });
        if let Some(live) = self.deadlines.get_mut(seq) {
            (live.state, live.due, live.marked) = (State::Scheduled, Some(due), true);
        }
        let event = self.job_ref(seq, timer.class);
        self.emit(EventKind::Scheduled { job: event, due, from: Some(from) });
        self.wait_until(due, seq, timer);
    }
}
