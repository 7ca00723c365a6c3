//! Sweeps: jobs that may not start and do not wait are dropped or rescheduled, in slices.

use rota_model::{ClassId, Seq};

use super::Scheduler;
use super::bookings::Booking;
use super::lane::{Lane, LanePosition, WaitingJob};
use super::limits::{Closed, GateIx, LimitIx};
use super::notice::Notice;

/// A job that left its lane because a limit is reached.
pub(crate) struct Swept {
    pub seq: Seq,
    pub class: ClassId,
    pub job: WaitingJob,
    pub gate: GateIx,
    pub closed: Closed,
    /// Set if the job was rescheduled before.
    pub booking: Option<Booking>,
}

impl Scheduler {
    /// Begins to sweep a lane, until its limits are open or it is empty.
    pub(super) fn begin_sweep(&mut self, class: ClassId, gate: GateIx, closed: &Closed) {
        self.displace_lane(class);
        if let Some(lane) = self.lanes.get_mut(class) {
            lane.position = LanePosition::Sweep;
        }
        self.sweeps.push_back(class);
        let limit = self.limits.gate(gate).limit;
        self.notices.push(Notice::LimitExceeded { limit, class, closed: *closed });
    }

    pub fn is_sweeping(&self) -> bool {
        !self.sweeps.is_empty()
    }

    /// The next job to drop or reschedule. It has left its lane.
    pub fn next_swept(&mut self) -> Option<Swept> {
        loop {
            self.steps += 1;
            let &class = self.sweeps.front()?;
            let closed = self.closed_gate(class);
            if let Some((gate, closed)) = closed
                && !closed.paused
                && let Some((seq, job)) = self.pop(class)
            {
                let booking = self.unbook(seq);
                return Some(Swept { seq, class, job, gate, closed, booking });
            }
            self.end_sweep(class);
        }
    }

    fn end_sweep(&mut self, class: ClassId) {
        self.sweeps.pop_front();
        let Some(lane) = self.lanes.get_mut(class) else { return };
        lane.position = LanePosition::Nowhere;
        if lane.len() == 0 {
            self.lanes.remove_if_empty(class);
        } else {
            self.place_lane(class);
        }
    }

    /// Lets jobs that do not wait for limits wait while their key is paused, because a pause may end
    /// at any moment.
    pub(super) fn wait_for_pause(&mut self, class: ClassId, gate: GateIx) {
        self.move_to_gate(class, gate);
        let limit = self.limits.gate(gate).limit;
        self.paused_lanes.entry(limit).or_default().insert(class);
    }

    /// A limit's settings have changed: lanes that wait for its pause are to be placed again.
    pub(super) fn pause_may_be_over(&mut self, limit: LimitIx) {
        let lanes = self.paused_lanes.remove(&limit);
        self.to_place_again.extend(lanes.into_iter().flatten());
    }

    /// Places one lane again that waited for a pause. Returns whether there was one.
    pub(super) fn place_one_again(&mut self) -> bool {
        let Some(class) = self.to_place_again.pop_front() else { return false };
        let is_known = self.classes.get(class.0 as usize).is_some_and(Option::is_some);
        let lane = self.lanes.get(class).filter(|_| is_known);
        let waits_at_gate =
            |lane: &Lane| matches!(lane.position, LanePosition::Turn(_, _, Some(_)));
        if lane.is_some_and(waits_at_gate) && !self.class(class).waits {
            self.displace_lane(class);
            self.place_lane(class);
        }
        true
    }
}
