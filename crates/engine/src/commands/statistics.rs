//! Closing the intervals of the statistics.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rota_model::mutation::{HistoryRow, Mutation, Period};
use rota_model::{ClassId, Millis};

use crate::scheduler::Reconfigured;
use crate::stats::{Interval, Stats};
use crate::tenant::TenantIx;
use crate::{Engine, Reply};

const KEEP_MINUTES_MS: i64 = 25 * 3_600_000;
const KEEP_HOURS_MS: i64 = 31 * 24 * 3_600_000;

/// Under which name the statistics of all queues together are kept. No queue can have it.
pub(crate) const ALL_QUEUES: &str = "";

impl Engine {
    /// When a minute is over, writes it down and begins the next.
    pub(crate) fn roll_statistics(&mut self) {
        let minute = start_of(self.now.wall, Period::Minute);
        match self.minute {
            None => self.minute = Some(minute),
            Some(last) if last < minute => {
                self.minute = Some(minute);
                self.close_minute(last, minute);
            }
            Some(_) => {}
        }
    }

    /// Writes the minute under way as it is. A start within it goes on from there.
    pub(crate) fn flush_stats(&mut self) -> Reply {
        if let Some(minute) = self.minute {
            self.write_intervals(minute, false);
        }
        Reply::Done
    }

    fn close_minute(&mut self, closed: Millis, now: Millis) {
        let hour_over = start_of(closed, Period::Hour) < start_of(now, Period::Hour);
        self.write_intervals(closed, hour_over);
        let clear = |stats: &mut Stats| {
            stats.last = std::mem::take(&mut stats.minute);
            stats.hour.merge(&stats.last);
            if hour_over {
                stats.hour = Interval::default();
            }
        };
        clear(&mut self.total);
        self.queues.iter_mut().for_each(|queue| clear(&mut queue.stats));
        if hour_over {
            for (period, keep) in [(Period::Minute, KEEP_MINUTES_MS), (Period::Hour, KEEP_HOURS_MS)]
            {
                let before = now.saturating_sub_ms(keep);
                self.out.mutations.push(Mutation::ForgetHistory(period, before));
            }
        }
        self.forget_idle_classes();
    }

    fn forget_idle_classes(&mut self) {
        let mut gone: BTreeMap<TenantIx, BTreeSet<ClassId>> = BTreeMap::new();
        for (id, slot) in self.classes.drop_idle(&mut self.out.mutations) {
            gone.entry(slot.tenant).or_default().insert(id);
            let limits = self.scheduler.limits();
            let held = self.scheduler.gates_of(id).iter().map(|gate| limits.gate(*gate).limit);
            let held: Vec<_> = held.collect();
            self.scheduler.reconfigured(Reconfigured::ClassGone(id));
            held.into_iter().for_each(|limit| self.forget_if_idle(limit));
        }
        // Once for each tenant: some have very many.
        for (tenant, gone) in gone {
            self.tenants.get_mut(tenant).classes.retain(|class| !gone.contains(class));
        }
    }

    fn write_intervals(&mut self, minute: Millis, with_hour: bool) {
        let queues = self.queues.iter().map(|queue| (&*queue.name, &queue.stats));
        let mut rows = Vec::new();
        for (name, stats) in queues.chain([(ALL_QUEUES, &self.total)]) {
            if !stats.minute.is_empty() {
                rows.push(row(Period::Minute, minute, name, &stats.minute));
            }
            if with_hour {
                let mut hour = stats.hour.clone();
                hour.merge(&stats.minute);
                if !hour.is_empty() {
                    rows.push(row(Period::Hour, start_of(minute, Period::Hour), name, &hour));
                }
            }
        }
        self.out.mutations.extend(rows.into_iter().map(Mutation::History));
    }

    pub(crate) fn write_interval(
        &mut self,
        period: Period,
        at: Millis,
        queue: &str,
        interval: &Interval,
    ) {
        self.out.mutations.push(Mutation::History(row(period, at, queue, interval)));
    }
}

fn row(period: Period, at: Millis, queue: &str, interval: &Interval) -> HistoryRow {
    let data = serde_json::to_vec(interval).expect("statistics are plain data");
    HistoryRow { period, at, queue: Arc::from(queue), data: data.into() }
}

/// The beginning of the interval that this moment belongs to.
pub(crate) fn start_of(at: Millis, period: Period) -> Millis {
    Millis(at.0 - at.0.rem_euclid(period.ms()))
}
