//! Bookings: when rescheduled jobs come back.
//!
//! A booking is the instant for which a limit has rescheduled a job. A limit admits its booked jobs in
//! order: first those that came back while it was still closed, because others had started late, then
//! the rest. No booking is later than necessary: if the limit opens before the earliest one, the first
//! job is brought forward.

use rota_model::{ClassId, LimitNumbers, Millis, Seq};

use super::Scheduler;
use super::limits::{ClosedNotice, Gate, LimitIx, LimitKind};
use super::notice::Notice;
use super::sweeps::Swept;
use crate::command::later;

/// The longest time for which a job is rescheduled when no slot is free.
const LONGEST_MS: u64 = 3_600_000;

/// A rescheduled job, until it starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Booking {
    limit: LimitIx,
    class: ClassId,
    /// Why the job was rescheduled, and since when.
    notified: ClosedNotice,
    /// When the job comes back, in wall-clock time.
    due: Millis,
    /// The instant at which the limit admits the job, in the limits' clock. `None` if it is unknown,
    /// or if the job is back.
    at: Option<i64>,
    /// The job was rescheduled at this limit before.
    again: bool,
}

/// A booked job that is brought forward.
pub(crate) struct Forward {
    pub seq: Seq,
    pub old_due: Millis,
    pub due: Millis,
}

impl Scheduler {
    /// Reschedules a swept job and returns when it comes back: at the first instant at which its limit
    /// admits it behind the jobs already booked. If nothing tells when a slot will be free, it comes
    /// back after `step_ms`, longer each time.
    pub fn book(&mut self, swept: &Swept, step_ms: u64, wall: Millis) -> Millis {
        let (now, step) = (self.now, step_ms.max(1));
        let mono = now.mono as i64;
        let gate = self.limits.gate(swept.gate);
        let (ix, numbers) = (gate.limit, gate.numbers);
        let before = swept.booking.filter(|booking| booking.limit == ix);
        let again = before.is_some();
        let limit = self.limits.limit_mut(ix);
        let has_instant = swept.closed.opens.is_some();
        let at = if has_instant {
            let (ahead, last) = limit.booked_jobs.before(again);
            limit.admitted_at(numbers, ahead, last, now).max(mono + 1)
        } else {
            limit.times_rescheduled = limit.times_rescheduled.saturating_add(1);
            mono + (step * u64::from(limit.times_rescheduled)).min(LONGEST_MS) as i64
        };
        if has_instant {
            limit.booked_jobs.add(at, swept.seq, again);
        }
        let due = later(wall, (at - mono) as u64);
        let notified = (swept.closed.kind, before.map_or(now.mono, |booking| booking.notified.1));
        let (class, at) = (swept.class, has_instant.then_some(at));
        self.bookings.insert(swept.seq, Booking { limit: ix, class, notified, due, at, again });
        due
    }

    /// Removes the booking of a job that starts, is rescheduled again, or is gone.
    pub fn unbook(&mut self, seq: Seq) -> Option<Booking> {
        if self.bookings.is_empty() {
            return None;
        }
        let booking = self.bookings.remove(&seq)?;
        if self.limits.exists(booking.limit) {
            let booked_jobs = &mut self.limits.limit_mut(booking.limit).booked_jobs;
            booked_jobs.forget(seq);
            booking.at.into_iter().for_each(|at| booked_jobs.remove(at, seq, booking.again));
            self.may_open_early(booking.limit);
        }
        Some(booking)
    }

    /// A booked job gets another class, with the same limits.
    pub(super) fn change_booked_class(&mut self, seq: Seq, class: ClassId) {
        if let Some(booking) = self.bookings.get_mut(&seq) {
            booking.class = class;
        }
    }

    /// Restores the booking of a job rescheduled before a restart. Which limit rescheduled it is not
    /// stored; the first of its limits with a period is assumed.
    pub fn rebook(&mut self, seq: Seq, class: ClassId, due: Millis) {
        let limits = &self.limits;
        let mut gates = self.class(class).gates.iter().map(|gate| limits.gate(*gate));
        let numbers = |gate: &Gate| limits.limit(gate.limit).numbers(gate.numbers, self.now.wall);
        let is_timed = |numbers: LimitNumbers| numbers.rate.or(numbers.throttle).is_some();
        let timed = gates.clone().find(|gate| is_timed(numbers(gate)));
        let Some(gate) = timed.or_else(|| gates.next()) else { return };
        let (limit, numbers) = (gate.limit, numbers(gate));
        let kind = match (numbers.throttle, numbers.rate) {
            (Some(_), _) => LimitKind::Throttle,
            (None, Some(_)) => LimitKind::Rate,
            (None, None) => LimitKind::Concurrency,
        };
        let in_mono = |due: Millis| (self.now.mono as i64).saturating_add(due.since(self.now.wall));
        let at = timed.map(|_| in_mono(due));
        at.into_iter().for_each(|at| self.limits.limit_mut(limit).booked_jobs.add(at, seq, false));
        let (notified, again) = ((kind, self.now.mono), false);
        self.bookings.insert(seq, Booking { limit, class, notified, due, at, again });
    }

    /// A rescheduled job is due.
    pub fn reschedule_is_over(&mut self, seq: Seq) {
        let Some(booking) = self.bookings.get_mut(&seq) else { return };
        let Booking { limit, again, .. } = *booking;
        let at = booking.at.take();
        if self.limits.exists(limit) {
            let booked_jobs = &mut self.limits.limit_mut(limit).booked_jobs;
            at.into_iter().for_each(|at| booked_jobs.remove(at, seq, again));
            booked_jobs.came_back(seq);
            self.may_open_early(limit);
        }
    }

    /// Reports that a rescheduled job starts. It is not reported earlier, because a job that is back
    /// may be rescheduled again.
    pub(super) fn notify_rescheduled_start(&mut self, seq: Seq, class: ClassId) {
        if let Some(Booking { limit, notified, .. }) = self.unbook(seq) {
            self.notices.push(Notice::LimitReleased { limit, class, head: seq, notified });
        }
    }

    /// Notes that a limit may open before the first of its booked jobs comes back.
    pub(super) fn may_open_early(&mut self, limit: LimitIx) {
        if self.limits.limit(limit).booked_jobs.has_booked() {
            self.to_bring_forward.insert(limit);
        }
    }

    pub fn has_early_openings(&self) -> bool {
        !self.to_bring_forward.is_empty()
    }

    /// The next job to bring forward. The job booked behind it may follow once this one is back.
    pub fn bring_forward(&mut self, wall: Millis) -> Option<Forward> {
        while let Some(limit) = self.to_bring_forward.pop_first() {
            self.steps += 1;
            if let Some(forward) = self.bring_first_forward(limit, wall) {
                return Some(forward);
            }
        }
        None
    }

    fn bring_first_forward(&mut self, ix: LimitIx, wall: Millis) -> Option<Forward> {
        if !self.limits.exists(ix) {
            return None;
        }
        let (earliest, seq) = self.limits.limit(ix).booked_jobs.first()?;
        let Booking { class, due: old_due, at, again, .. } = *self.bookings.get(&seq)?;
        let gate = self.gates_of(class).find(|gate| self.limits.gate(*gate).limit == ix)?;
        let closed = self.limits.opening(gate, self.now).closed;
        if closed.is_some_and(|closed| closed.paused || closed.opens.is_none()) {
            return None;
        }
        let (now, numbers) = (self.now, self.limits.gate(gate).numbers);
        let mono = now.mono as i64;
        let limit = self.limits.limit_mut(ix);
        // Jobs that are back go first.
        let new = limit.admitted_at(numbers, limit.booked_jobs.waiting(), None, now).max(mono + 1);
        let due = later(wall, (new - mono) as u64);
        if new >= earliest || due >= old_due {
            return None;
        }
        limit.booked_jobs.remove(at?, seq, again);
        limit.booked_jobs.add(new, seq, again);
        let booking = self.bookings.get_mut(&seq)?;
        (booking.at, booking.due) = (Some(new), due);
        Some(Forward { seq, old_due, due })
    }
}
