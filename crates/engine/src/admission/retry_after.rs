//! Estimates of when a refused enqueue may succeed, in milliseconds.

use rota_model::{Millis, QueueName, State};

use crate::Engine;
use crate::meters::{SLOT_MS, SLOTS, slot_of};
use crate::tenant::TenantIx;

const SHORTEST_MS: u64 = 1_000;
const LONGEST_MS: u64 = 3_600_000;
/// When nothing starts at present, nobody knows how long it will take. Clients sleep for as long as they are
/// told, so this is short.
const UNKNOWN_MS: u64 = 5_000;

/// Bytes are freed when jobs are deleted, by retention or on request. Nobody knows when that is.
pub(super) const MS_UNTIL_FREED: u64 = UNKNOWN_MS;

/// Timers that are examined to find those of one tenant.
const LOOK_AHEAD: usize = 1_000;

impl Engine {
    /// Time until `jobs` jobs of a tenant have started, at its current rate.
    pub(super) fn ms_until_started(&self, ix: TenantIx, jobs: u64) -> u64 {
        let tenant = self.tenants.get(ix);
        let counted = tenant.counters.iter().flat_map(|all| all.minute.slots());
        let pending = self.journal.pending_delta(tenant);
        let pending = pending.map(|delta| (slot_of(delta.at), delta.tally));
        let starts = counted.chain(pending).map(|(slot, tally)| (slot, tally.started));
        time_to_start(jobs, starts, self.wall()).clamp(SHORTEST_MS, LONGEST_MS)
    }

    /// Time until `jobs` scheduled jobs of a tenant are due: exact if they are among the next
    /// [`LOOK_AHEAD`] timers, otherwise a lower bound.
    pub(super) fn ms_until_due(&self, ix: TenantIx, mut jobs: u64) -> u64 {
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

    /// Time until a queue has room, at the current rate of starts.
    pub(super) fn ms_until_room(&self, name: &QueueName, excess: u64, in_bytes: bool) -> u64 {
        let Some(ix) = self.queues.find(name) else { return SHORTEST_MS };
        let dispatches = self.queues.get(ix).stats.dispatches.slots();
        let starts = dispatches.map(|(slot, dispatches)| (slot, dispatches.count));
        let jobs = if in_bytes { 1 } else { excess };
        time_to_start(jobs, starts, self.wall()).clamp(SHORTEST_MS, LONGEST_MS)
    }
}

/// The rate is measured over the current slot and this many before it.
const RECENT_SLOTS: u32 = 2;

/// Time until `jobs` more jobs have started, in ms, from the starts in each slot of the last minute. The
/// rate is that of the last 10 to 15 s, or since the first start. If all starts are older, it is that of
/// the whole minute, and the result is at least [`UNKNOWN_MS`]. If there were none, it is that.
fn time_to_start(jobs: u64, slots: impl Iterator<Item = (u32, i32)>, now: Millis) -> u64 {
    let current = slot_of(now);
    let since = |slot: u32| (now.0 - i64::from(slot) * SLOT_MS).max(SHORTEST_MS as i64) as u64;
    let (mut recent, mut minute, mut first) = (0i64, 0i64, None);
    for (slot, starts) in slots.filter(|(slot, starts)| slot + SLOTS > current && *starts != 0) {
        minute += i64::from(starts);
        recent += if slot + RECENT_SLOTS >= current { i64::from(starts) } else { 0 };
        first = first.or(Some(slot));
    }
    let rate_of = |starts: i64| u64::try_from(starts).ok().filter(|starts| *starts > 0);
    if let (Some(starts), Some(first)) = (rate_of(recent), first) {
        let begun = first.max(current.saturating_sub(RECENT_SLOTS));
        return jobs.saturating_mul(since(begun)) / starts;
    }
    let by_minute = rate_of(minute).map_or(0, |starts| jobs.saturating_mul(60_000) / starts);
    by_minute.max(UNKNOWN_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_770_000_000_000;

    /// Starts by seconds after [`START`], and the time of the question.
    fn wait(jobs: u64, starts: &[(i64, i32)], after_s: i64) -> u64 {
        let at = |second: i64| Millis(START + second * 1_000);
        let slots = starts.iter().map(|(second, starts)| (slot_of(at(*second)), *starts));
        time_to_start(jobs, slots, at(after_s))
    }

    #[test]
    fn it_follows_the_current_rate() {
        let fast: Vec<_> = (0..10).map(|second| (second, 20)).collect();
        assert_eq!(wait(50, &fast, 10), 2_500);
        let slower: Vec<_> =
            (0..50).map(|second| (second, if second < 30 { 20 } else { 1 })).collect();
        assert_eq!(wait(50, &slower, 50), 50_000);
        let faster: Vec<_> =
            (0..50).map(|second| (second, if second < 30 { 1 } else { 20 })).collect();
        assert_eq!(wait(50, &faster, 50), 2_500);
    }

    #[test]
    fn when_nothing_starts_it_is_a_few_seconds() {
        let starts = [(0, 100), (5, 100)];
        assert_eq!([20, 50, 60].map(|now| wait(1, &starts, now)), [5_000; 3]);
        assert_eq!(wait(300, &starts, 50), 90_000, "many jobs, at the rate of the minute");
        assert_eq!(wait(1, &starts, 70), 5_000);
        assert_eq!(wait(1, &[(0, 3), (1, -3)], 2), 5_000, "nobody received them");
    }

    #[test]
    fn a_slow_rate_is_that_of_the_minute() {
        assert_eq!(wait(1, &[(0, 1), (20, 1), (40, 1)], 55), 20_000);
    }
}
