//! Jobs that would start, may not, and do not want to wait: they are dropped or put off, a few at a
//! time.

use rota_model::{ClassId, Seq};

use super::Scheduler;
use super::lane::{Place, Waiting};
use super::limits::{Closed, GateIx};
use super::notice::Notice;

/// The farthest that a job is put off for want of a slot.
const LONGEST_MS: u64 = 3_600_000;

/// A job that left its lane because a limit is reached.
pub(crate) struct Swept {
    pub seq: Seq,
    pub class: ClassId,
    pub job: Waiting,
    pub gate: GateIx,
    pub closed: Closed,
}

impl Scheduler {
    /// A lane's jobs are dropped or put off from now on, until its limits are open or none is left.
    pub(super) fn begin_sweep(&mut self, class: ClassId, gate: GateIx, closed: &Closed) {
        self.displace_lane(class);
        if let Some(lane) = self.lanes.get_mut(class) {
            lane.place = Place::Sweep;
        }
        self.sweeps.push_back(class);
        let limit = self.limits.gate(gate).limit;
        self.notices.push(Notice::LimitExceeded { limit, class, closed: *closed });
    }

    pub fn is_sweeping(&self) -> bool {
        !self.sweeps.is_empty()
    }

    /// The next job that is to be dropped or put off. It has left its lane.
    pub fn next_swept(&mut self) -> Option<Swept> {
        loop {
            self.steps += 1;
            let &class = self.sweeps.front()?;
            let closed = self.closed_gate(class);
            if let Some((gate, closed)) = closed
                && let Some((seq, job)) = self.pop(class)
            {
                return Some(Swept { seq, class, job, gate, closed });
            }
            self.end_sweep(class);
        }
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

    /// The moment to which a job is put off: one of its own, so that jobs which are put off one after
    /// the other do not all come back at the same time. `step_ms` where it is not known when a slot
    /// will be free.
    pub fn book(&mut self, swept: &Swept, step_ms: u64) -> i64 {
        let mono = self.now.mono as i64;
        let step = step_ms.max(1);
        let limit = self.limits.limit_mut(self.limits.gate(swept.gate).limit);
        let booked = |limit_booked: i64, opens: i64, every: u64| {
            opens.max(limit_booked.saturating_add(every as i64)).max(mono + 1)
        };
        match swept.closed.opens {
            Some(opens) => {
                let every = swept.closed.every_ms.unwrap_or(step);
                limit.booked = booked(limit.booked, opens, every);
                limit.booked
            }
            None => {
                limit.put_off = limit.put_off.saturating_add(1);
                mono + (step * u64::from(limit.put_off)).min(LONGEST_MS) as i64
            }
        }
    }
}
