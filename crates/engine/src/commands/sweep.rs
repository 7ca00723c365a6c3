//! Jobs that would start, may not, and do not want to wait.

use rota_model::mutation::Mutation;
use rota_model::{ClassId, Ending, OnLimit, Seq, State};

use crate::command::later;
use crate::limit::{Closed, GateIx};
use crate::sched::{Place, Waiting};
use crate::timers::Timer;
use crate::{Engine, EventKind};

/// The farthest that a job is put off for want of a slot.
const LONGEST_MS: u64 = 3_600_000;
/// Jobs that are dropped or put off in the step that found that they may not start.
const AT_ONCE: usize = 64;

impl Engine {
    /// A lane's jobs are dropped or put off from now on, until the gate is open or none is left.
    pub(crate) fn sweep(&mut self, class: ClassId, gate: GateIx, closed: &Closed) {
        if let Some(lane) = self.lanes.get_mut(class) {
            lane.place = Place::Sweep(gate);
        }
        self.sweeps.push_back(class);
        self.tell_closed(gate, class, closed);
    }

    /// At once, so that whoever asks next sees it. The rest is done when time goes on: nobody waits
    /// for a million jobs to be dropped.
    pub(crate) fn sweep_a_few(&mut self) {
        for _ in 0..AT_ONCE {
            if !self.sweep_one() {
                return;
            }
        }
    }

    /// Does this to one job; false when there is none.
    pub(crate) fn sweep_one(&mut self) -> bool {
        let Some(&class) = self.sweeps.front() else { return false };
        let closed = self.closed_gate(class);
        let Some((gate, closed)) = closed else {
            self.end_sweep(class);
            return true;
        };
        let Some((seq, job)) = self.pop_lane(class) else {
            self.end_sweep(class);
            return true;
        };
        let policy = self.classes.slot(class).class.policy.clone();
        match policy.limit.as_ref().map(|limit| limit.on_limit) {
            Some(OnLimit::Drop) => self.drop_limited(seq, class, gate, &job),
            _ => self.put_off(seq, class, gate, &closed, &job),
        }
        true
    }

    fn end_sweep(&mut self, class: ClassId) {
        self.sweeps.pop_front();
        let Some(lane) = self.lanes.get_mut(class) else { return };
        lane.place = Place::Nowhere;
        if lane.len() == 0 {
            self.lanes.remove_if_empty(class);
        } else {
            self.place_lane(class);
        }
    }

    fn drop_limited(&mut self, seq: Seq, class: ClassId, gate: GateIx, job: &Waiting) {
        self.end(seq, class, Ending::Discarded, None);
        let limit = self.limits.limit(self.limits.gate(gate).limit);
        let (key, tenant) = (limit.partition.key.clone(), limit.partition.tenant.clone());
        let dropped = self.job_ref(seq, class);
        self.emit(EventKind::LimitDropped { key, tenant, job: dropped.clone() });
        let (attempt, reason, error) = (job.attempt, "dropped_by_rate_limit", bytes::Bytes::new());
        self.emit(EventKind::Discarded { job: dropped, attempt, reason, error });
    }

    /// To a moment of its own: jobs that are put off one after the other do not all come back at
    /// the same time.
    fn put_off(&mut self, seq: Seq, class: ClassId, gate: GateIx, closed: &Closed, job: &Waiting) {
        let mono = self.now.mono as i64;
        let step = self.config.reschedule_ms.max(1);
        let limit = self.limits.limit_mut(self.limits.gate(gate).limit);
        let at = match (closed.opens, closed.every_ms) {
            (Some(opens), Some(every)) => {
                let next = limit.booked.saturating_add(every as i64);
                limit.booked = opens.max(next).max(mono + 1);
                limit.booked
            }
            (Some(opens), None) => {
                limit.booked = opens.max(limit.booked.saturating_add(step as i64)).max(mono + 1);
                limit.booked
            }
            (None, _) => {
                limit.put_off = limit.put_off.saturating_add(1);
                mono + (step * u64::from(limit.put_off)).min(LONGEST_MS) as i64
            }
        };
        let due = later(self.wall(), (at - mono).max(1) as u64);
        self.out.mutations.push(Mutation::Postpone { seq, due });
        let state = State::Scheduled;
        if let Some(live) = self.watch.get_mut(seq) {
            (live.state, live.due) = (state, Some(due));
        }
        let event = self.job_ref(seq, class);
        self.emit(EventKind::Scheduled { job: event, due });
        let Waiting { attempt, pauses, size, .. } = *job;
        self.wait_until(due, seq, Timer { class, attempt, pauses, size, state });
    }
}
