//! Advancing the engine's time: timers, deadlines and background work, in bounded slices.

use rota_model::{Live, State};

use crate::scheduler::{Size, WaitingJob};
use crate::timers::Timer;
use crate::{Engine, EventKind, Now, Target};

/// Due items handled in one step. The rest stays due, and [`Engine::wake_in_ms`] returns 0.
const SLICE: usize = 256;
/// Lanes moved in one step after their tenant's rules changed. One lane costs more than other due
/// items.
const RULE_CHANGES: usize = 32;

impl Engine {
    /// Milliseconds until the engine must be ticked again; 0 if something is due now, `None` if
    /// nothing is.
    #[must_use]
    pub fn wake_in_ms(&self) -> Option<u64> {
        let mono = [
            self.active.next_deadline(),
            self.workers.next_check(),
            self.scheduler.fetches().next_deadline(),
            self.waiting_enqueues.next_deadline(),
            self.scheduler.next_timer().map(|at| self.in_monotonic_time(at)),
            self.noise_detector.next_round(),
            self.idle.next_check(),
            self.idle_limits.next().map(|at| self.in_monotonic_time(at)),
            self.scheduler.is_sweeping().then_some(0),
            self.scheduler.has_early_openings().then_some(0),
            (!self.room_checks.is_empty()).then_some(0),
            self.classes.is_sweeping().then_some(0),
            (!self.rule_changes.is_empty()).then_some(0),
            (!self.maintenance.enabled() && self.scheduler.has_repairs()).then_some(0),
        ];
        let frozen = self.maintenance.enabled();
        let wall = [
            if frozen { None } else { self.timers.next() },
            if frozen { None } else { self.crons.next() },
            self.deadlines.next_deadline(),
            self.scheduler.limits().next_end(),
            self.tenants.throttle_ends.first().map(|&(at, _)| at),
            self.tenants.next_trim(),
            self.journal.unwritten.next(),
            self.minute.map(|minute| minute.saturating_add_ms(60_000)),
            self.open_intervals.next(),
        ];
        let in_mono = mono.into_iter().flatten().map(|at| at.saturating_sub(self.now.mono));
        let in_wall = wall.into_iter().flatten().map(|at| at.since(self.now.wall).max(0) as u64);
        in_mono.chain(in_wall).min()
    }

    /// Converts a time of the limits' clock into monotonic time. That clock may run slower, so the
    /// result is the earliest possible time.
    fn in_monotonic_time(&self, at: u64) -> u64 {
        self.now.mono + at.saturating_sub(self.scheduler.now().mono)
    }

    pub(crate) fn set_time(&mut self, now: Now) {
        self.now.wall = self.now.wall.max(now.wall);
        self.now.mono = self.now.mono.max(now.mono);
        self.now.ahead_ms = now.ahead_ms;
    }

    pub(crate) fn advance(&mut self, now: Now) {
        self.set_time(now);
        self.scheduler.advance(self.now);
        self.roll_statistics();
        self.schedule_prune();
        self.advance_usage();
        self.end_waits(self.now.mono);
        self.end_waits_for_room(self.now.mono);
        self.detect_noisy_tenants();
        self.tenants.trim_recent(self.now.wall, SLICE);
        let mut moved = 0;
        while moved < RULE_CHANGES && self.apply_rule_change() {
            moved += 1;
        }
        let mut left = SLICE;
        while left > 0 && self.run_one_due() {
            left -= 1;
        }
    }

    fn run_one_due(&mut self) -> bool {
        if let Some((seq, active)) = self.active.pop_due(self.now.mono) {
            self.reservation_ended(seq, &active);
            return true;
        }
        if let Some(worker) = self.workers.pop_check(self.now.mono) {
            self.check_worker(worker);
            return true;
        }
        if let Some(live) = self.deadlines.overdue(self.now.wall) {
            self.deadline_passed(&live);
            return true;
        }
        if let Some(limit) = self.scheduler.next_expired(self.now.wall) {
            self.expire_override(limit);
            return true;
        }
        if self.end_due_throttle(self.now.wall) || self.sweep_one() || self.bring_forward_one() {
            return true;
        }
        if self.check_one_idle() || self.forget_one_idle_limit() || self.forget_one_key() {
            return true;
        }
        !self.maintenance.enabled() && (self.promote_one() || self.trigger_one_cron())
    }

    fn promote_one(&mut self) -> bool {
        let Some((seq, timer)) = self.timers.pop_due(self.now.wall) else {
            return false;
        };
        self.count_out(timer.class, timer.state, timer.size);
        let event = self.job_ref(seq, timer.class);
        self.emit(EventKind::Enqueued { job: event, from: Some(timer.state) });
        let Timer { attempt, pauses, size, .. } = timer;
        let job = WaitingJob { attempt, pauses, ..WaitingJob::fresh(size) };
        self.scheduler.reschedule_is_over(seq);
        self.make_ready(seq, timer.class, job, false);
        true
    }

    fn deadline_passed(&mut self, live: &Live) {
        self.leave_waiting(live);
        self.expire(live.seq, live.class, live.state);
    }

    /// The current row of a waiting job. The row in `target` may be out of date: ending one run of
    /// a schedule releases the next.
    pub(crate) fn waiting_job(&self, target: &Target) -> Option<Live> {
        self.deadlines.get(target.seq).or(target.live()).cloned()
    }

    /// Removes a waiting job from its lane or timer, and from the counts.
    pub(crate) fn leave_waiting(&mut self, live: &Live) {
        let size = Size::of(u64::from(live.bytes));
        self.scheduler.unbook(live.seq);
        match (live.state, live.due) {
            (State::Scheduled | State::Retryable, Some(due)) => {
                let found = self.timers.remove(due, live.seq);
                debug_assert!(found.is_some(), "a job that waits for a time has a timer");
                self.count_out(live.class, live.state, size);
            }
            (State::Available, _) if !live.is_held() => self.leave_lane(live.seq, live.class),
            (state, _) => self.count_out(live.class, state, size),
        }
    }
}
