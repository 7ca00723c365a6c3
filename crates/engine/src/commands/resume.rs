//! After a pause, in which the process did not run: workers get time to report, as after a restart.

use crate::{Engine, Now};

/// After a restart or a pause, a worker has at least this long to report a job, even if the reservation
/// ended meanwhile.
const GRACE_MS: u64 = 15_000;

/// What is left of a time, if workers could not report for a while.
pub(crate) fn with_grace(left_ms: u64, whole_ms: u64) -> u64 {
    left_ms.max(GRACE_MS.min(whole_ms))
}

impl Engine {
    /// Advances the time to the end of a pause.
    pub(crate) fn resume(&mut self, now: Now) {
        self.set_time(now);
        let mono = self.now.mono;
        for seq in self.active.due_before(mono.saturating_add(GRACE_MS)) {
            let Some(active) = self.active.get(seq) else { continue };
            let policy = &self.classes.slot(active.class).class.policy;
            let timeout_ms = policy.timeout_ms.unwrap_or(self.config.timeout_ms);
            let left =
                |until: u64, whole: u64| mono + with_grace(until.saturating_sub(mono), whole);
            let reserved_until = left(active.reserved_until, active.reserved_ms);
            let times_out = left(active.times_out, timeout_ms);
            self.active.postpone(seq, reserved_until, times_out);
        }
        self.workers.hear_all(mono);
        self.advance(now);
    }
}
