//! Jobs that would start, may not, and do not want to wait: they are dropped or put off, a few at a
//! time.

use rota_model::{ClassId, LimitNumbers, Seq};

use super::Scheduler;
use super::lane::{Lane, Place, Waiting};
use super::limits::{Closed, Gate, GateIx, LimitIx, Strategy, WaitNotice};
use super::notice::Notice;

/// The farthest that a job is put off for want of a slot.
const LONGEST_MS: u64 = 3_600_000;

/// A job that was put off, until it may start, and what was said then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Booking {
    limit: LimitIx,
    told: WaitNotice,
    /// It is known when the limit will let it in, and others come after it.
    has_place: bool,
}

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
                && !closed.paused
                && let Some((seq, job)) = self.pop(class)
            {
                self.unbook(seq);
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

    /// Jobs that do not wait for a limit do so while their key is paused: a pause may end at any
    /// moment.
    pub(super) fn wait_for_pause(&mut self, class: ClassId, gate: GateIx) {
        self.move_to_gate(class, gate);
        let limit = self.limits.gate(gate).limit;
        self.paused_lanes.entry(limit).or_default().insert(class);
    }

    /// What is said about a limit has changed: lanes that wait because it was paused are looked at again.
    pub(super) fn pause_may_be_over(&mut self, limit: LimitIx) {
        let lanes = self.paused_lanes.remove(&limit);
        self.to_place_again.extend(lanes.into_iter().flatten());
    }

    /// Whether there was such a lane.
    pub(super) fn place_one_again(&mut self) -> bool {
        let Some(class) = self.to_place_again.pop_front() else { return false };
        let is_known = self.classes.get(class.0 as usize).is_some_and(Option::is_some);
        let lane = self.lanes.get(class).filter(|_| is_known);
        let waits_at_gate = |lane: &Lane| matches!(lane.place, Place::Turn(_, _, Some(_)));
        if lane.is_some_and(waits_at_gate) && !self.class(class).waits {
            self.displace_lane(class);
            self.place_lane(class);
        }
        true
    }

    /// The moment to which a job is put off: the first at which its limit lets it in after those that
    /// were put off before. `step_ms` where it is not known when a slot will be free.
    pub fn book(&mut self, swept: &Swept, step_ms: u64) -> i64 {
        let (now, step) = (self.now, step_ms.max(1));
        let gate = self.limits.gate(swept.gate);
        let (ix, numbers) = (gate.limit, gate.numbers);
        let limit = self.limits.limit_mut(ix);
        let has_place = swept.closed.opens.is_some();
        let at = if has_place {
            limit.booked += 1;
            limit.lets_in(numbers, limit.booked - 1, now)
        } else {
            limit.put_off = limit.put_off.saturating_add(1);
            now.mono as i64 + (step * u64::from(limit.put_off)).min(LONGEST_MS) as i64
        };
        let told = (swept.closed.strategy, now.mono);
        self.bookings.insert(swept.seq, Booking { limit: ix, told, has_place });
        at.max(now.mono as i64 + 1)
    }

    /// A job that may have been put off is due, or gone.
    pub fn unbook(&mut self, seq: Seq) -> Option<Booking> {
        if self.bookings.is_empty() {
            return None;
        }
        let booking = self.bookings.remove(&seq)?;
        if booking.has_place && self.limits.exists(booking.limit) {
            let limit = self.limits.limit_mut(booking.limit);
            limit.booked = limit.booked.saturating_sub(1);
        }
        Some(booking)
    }

    /// A job that was put off before a restart. Which limit it met is not known: the first that counts
    /// starts in time has a place for it.
    pub fn rebook(&mut self, seq: Seq, class: ClassId) {
        let limits = &self.limits;
        let mut gates = self.class(class).gates.iter().map(|gate| limits.gate(*gate));
        let numbers = |gate: &Gate| limits.limit(gate.limit).numbers(gate.numbers, self.now.wall);
        let is_timed = |numbers: LimitNumbers| numbers.rate.or(numbers.throttle).is_some();
        let timed = gates.clone().find(|gate| is_timed(numbers(gate)));
        let Some(gate) = timed.or_else(|| gates.next()) else { return };
        let (limit, numbers, has_place) = (gate.limit, numbers(gate), timed.is_some());
        let strategy = match (numbers.throttle, numbers.rate) {
            (Some(_), _) => Strategy::Throttle,
            (None, Some(_)) => Strategy::Rate,
            (None, None) => Strategy::Concurrency,
        };
        self.limits.limit_mut(limit).booked += u64::from(has_place);
        let told = (strategy, self.now.mono);
        self.bookings.insert(seq, Booking { limit, told, has_place });
    }

    /// A job that was put off is back. It is said that it may start when it may, at the latest when it
    /// does: the clock of limits may be behind the one by which the job came back.
    pub fn put_off_is_over(&mut self, seq: Seq, class: ClassId, booking: Booking) {
        if self.closed_gate(class).is_some() {
            self.bookings.insert(seq, Booking { has_place: false, ..booking });
        } else {
            let Booking { limit, told, .. } = booking;
            self.notices.push(Notice::LimitReleased { limit, class, head: seq, told });
        }
    }

    /// A job starts: if it was put off and came back too early, it is said now that it may.
    pub(super) fn tell_put_off_starts(&mut self, seq: Seq, class: ClassId) {
        if let Some(Booking { limit, told, .. }) = self.unbook(seq) {
            self.notices.push(Notice::LimitReleased { limit, class, head: seq, told });
        }
    }
}
