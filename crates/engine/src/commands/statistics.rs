//! Statistics by minute and hour: counting, closing intervals, and writing closed ones.
//!
//! A queue's minute is closed when something is counted in a later one, or in its turn: a bounded
//! number of queues per step.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use rota_model::mutation::{HistoryRow, Mutation, Period};
use rota_model::{ClassId, Millis};

use crate::Engine;
use crate::queue::QueueIx;
use crate::scheduler::Reconfigured;
use crate::stats::{ClosedIntervals, Interval, IntervalDelta, Stats};
use crate::tenant::TenantIx;

const KEEP_MINUTES_MS: i64 = 25 * 3_600_000;
const KEEP_HOURS_MS: i64 = 31 * 24 * 3_600_000;
/// Queues whose minute or hour is closed in one step, and idle classes that are checked in one
/// step.
const SLICE: usize = 128;
/// History rows deleted in one step; more than one step writes.
const FORGET: u32 = 4 * SLICE as u32;

/// The name under which the statistics of all queues together are stored. No queue can have it.
pub(crate) const ALL_QUEUES: &str = "";

/// Queues with counts in an open minute or hour, each listed once, ordered by the interval's start.
#[derive(Default)]
pub(crate) struct OpenIntervals {
    minutes: VecDeque<(Millis, QueueIx)>,
    hours: VecDeque<(Millis, QueueIx)>,
}

impl OpenIntervals {
    /// When the first of these intervals ends.
    pub fn next(&self) -> Option<Millis> {
        let end = |list: &VecDeque<(Millis, QueueIx)>, period: Period| {
            list.front().map(|(at, _)| at.saturating_add_ms(period.ms()))
        };
        let ends = [end(&self.minutes, Period::Minute), end(&self.hours, Period::Hour)];
        ends.into_iter().flatten().min()
    }
}

impl Engine {
    /// Counts something for a queue and for the total.
    pub(crate) fn record(&mut self, ix: QueueIx, count: impl FnOnce(&mut IntervalDelta)) {
        let now = self.wall();
        let minute = Period::Minute.start_of(now);
        if self.queues.get(ix).stats.minute_at != minute {
            self.close_queue(ix, now);
            self.queues.get_mut(ix).stats.minute_at = minute;
        }
        count(self.pending_minute(ix, minute));
        self.list_intervals(ix);
    }

    /// After a restart: adds the counts of the current minute, of a queue or of the total.
    pub(crate) fn restore_minute(&mut self, queue: Option<QueueIx>, at: Millis, past: &Interval) {
        let stats = self.stats_mut(queue);
        stats.minute.merge(past);
        stats.minute_at = at;
        queue.into_iter().for_each(|ix| self.list_intervals(ix));
    }

    /// After a restart: adds the counts of earlier minutes of the current hour.
    pub(crate) fn restore_hour(&mut self, queue: Option<QueueIx>, at: Millis, past: &Interval) {
        let stats = self.stats_mut(queue);
        stats.hour.merge(past);
        stats.hour_at = at;
        queue.into_iter().for_each(|ix| self.list_intervals(ix));
    }

    fn stats_mut(&mut self, queue: Option<QueueIx>) -> &mut Stats {
        match queue {
            Some(ix) => &mut self.queues.get_mut(ix).stats,
            None => &mut self.total,
        }
    }

    fn list_intervals(&mut self, ix: QueueIx) {
        let stats = &mut self.queues.get_mut(ix).stats;
        if !std::mem::replace(&mut stats.minute_listed, true) {
            self.open_intervals.minutes.push_back((stats.minute_at, ix));
        }
        if !std::mem::replace(&mut stats.hour_listed, true) {
            let hour_at = Period::Hour.start_of(stats.minute_at.max(stats.hour_at));
            self.open_intervals.hours.push_back((hour_at, ix));
        }
    }

    /// Closes intervals that have ended, a bounded number, and begins the next minute.
    pub(crate) fn roll_statistics(&mut self) {
        let (now, minute) = (self.now.wall, Period::Minute.start_of(self.now.wall));
        let closed = self.close_some_queues(now);
        let last = self.minute.replace(minute).unwrap_or(minute);
        let hour_over = Period::Hour.start_of(last) < Period::Hour.start_of(now);
        if last < minute {
            self.count_minutes();
            let mut closed = ClosedIntervals::new();
            self.total.close(now, &mut closed);
            self.total.dispatches.trim(now);
            self.write_closed(ALL_QUEUES, closed);
            self.classes.begin_sweep();
        }
        if closed > 0 || hour_over {
            for (period, keep) in [(Period::Minute, KEEP_MINUTES_MS), (Period::Hour, KEEP_HOURS_MS)]
            {
                let before = minute.saturating_sub_ms(keep);
                self.out.mutations.push(Mutation::ForgetHistory { period, before, most: FORGET });
            }
        }
        if hour_over {
            self.forget_old_usage();
        }
        self.forget_idle_classes();
    }

    /// Closes up to `SLICE` intervals that have ended, and returns how many rows were written.
    fn close_some_queues(&mut self, now: Millis) -> usize {
        let (minute, hour) = (Period::Minute.start_of(now), Period::Hour.start_of(now));
        let written = self.out.mutations.len();
        for _ in 0..SLICE {
            let open = &mut self.open_intervals;
            if let Some(&(_, ix)) = open.minutes.front().filter(|(at, _)| *at < minute) {
                open.minutes.pop_front();
                self.close_queue(ix, now);
                let stats = &mut self.queues.get_mut(ix).stats;
                stats.dispatches.trim(now);
                stats.minute_listed = !stats.minute.is_empty();
                if stats.minute_listed {
                    self.open_intervals.minutes.push_back((minute, ix));
                }
            } else if let Some(&(_, ix)) = open.hours.front().filter(|(at, _)| *at < hour) {
                open.hours.pop_front();
                self.close_queue(ix, now);
                let stats = &mut self.queues.get_mut(ix).stats;
                stats.dispatches.trim(now);
                stats.hour_listed = !stats.minute.is_empty() || !stats.hour.is_empty();
                if stats.hour_listed {
                    self.open_intervals.hours.push_back((hour, ix));
                }
            } else {
                break;
            }
        }
        self.out.mutations.len() - written
    }

    fn close_queue(&mut self, ix: QueueIx, now: Millis) {
        self.count_minute(ix);
        let mut closed = ClosedIntervals::new();
        let queue = self.queues.get_mut(ix);
        queue.stats.close(now, &mut closed);
        if !closed.is_empty() {
            let name = queue.name.clone();
            self.write_closed(&name, closed);
        }
    }

    fn write_closed(&mut self, queue: &str, closed: ClosedIntervals) {
        for (period, at, interval) in closed {
            self.write_interval(period, at, queue, &interval);
        }
    }

    fn forget_idle_classes(&mut self) {
        let mut gone: BTreeMap<TenantIx, BTreeSet<ClassId>> = BTreeMap::new();
        for (id, slot) in self.classes.drop_idle(SLICE, &mut self.out.mutations) {
            gone.entry(slot.tenant).or_default().insert(id);
            let held = self.scheduler.keys_of(id);
            self.scheduler.reconfigured(Reconfigured::ClassGone(id));
            self.shards.get_mut(slot.shard).classes -= 1;
            for limit in held {
                self.scheduler.forget_at_key(limit, slot.tenant);
                self.forget_if_idle(limit);
            }
        }
        // Once per tenant: some have very many classes.
        for (tenant, gone) in gone {
            self.tenants.get_mut(tenant).classes.retain(|class| !gone.contains(class));
        }
    }

    pub(crate) fn write_interval(
        &mut self,
        period: Period,
        at: Millis,
        queue: &str,
        interval: &Interval,
    ) {
        self.out.mutations.push(Mutation::History(history_row(period, at, queue, interval)));
    }
}

pub(crate) fn history_row(
    period: Period,
    at: Millis,
    queue: &str,
    interval: &Interval,
) -> HistoryRow {
    let data = serde_json::to_vec(interval).expect("statistics are plain data");
    HistoryRow { period, at, queue: Arc::from(queue), data: data.into() }
}
