//! When there will be room for what is refused now, in milliseconds.

use rota_model::{QueueName, State};

use crate::Engine;
use crate::tenant::TenantIx;

const SHORTEST: u64 = 1_000;
const LONGEST: u64 = 3_600_000;

/// So many of the next scheduled jobs of the server are looked at to find those of one tenant.
const LOOK_AHEAD: usize = 1_000;

impl Engine {
    /// Until so many jobs of a tenant have left, by what was started in the last minute.
    pub(super) fn until_gone(&self, ix: TenantIx, jobs: u64) -> u64 {
        let left = u64::try_from(self.minute_of(ix).started).unwrap_or(0);
        (jobs * 60_000).checked_div(left).unwrap_or(60_000).clamp(SHORTEST, LONGEST)
    }

    /// Until so many of a tenant's scheduled jobs are due: exact when they are among the next of all,
    /// and never too long.
    pub(super) fn until_due(&self, ix: TenantIx, mut jobs: u64) -> u64 {
        let mut last = self.wall();
        for (due, timer) in self.timers.iter().take(LOOK_AHEAD) {
            last = due;
            if timer.state == State::Scheduled && self.classes.slot(timer.class).tenant == ix {
                jobs -= 1;
                if jobs == 0 {
                    break;
                }
            }
        }
        (last.0 - self.wall().0).max(1) as u64
    }

    /// Until a queue has room, by what was started in the last minute.
    pub(super) fn until_drained(&self, name: &QueueName, excess: u64, in_bytes: bool) -> u64 {
        let Some(ix) = self.queues.find(name) else { return SHORTEST };
        let left = self.queues.get(ix).stats.dispatches.sum(self.wall()).jobs();
        let jobs = if in_bytes { 1 } else { excess };
        (jobs * 60_000).checked_div(left).unwrap_or(5_000).clamp(SHORTEST, LONGEST)
    }
}
