//! The current minute's statistics in the journal.
//!
//! A minute that has ended is a row of the history. Until then, the journal has what each batch
//! added to it. If the journal gets too long, the row is written early, with the number of the last
//! batch it includes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rota_model::mutation::{HistoryRow, Mutation, Period};
use rota_model::{Millis, QueueName};
use serde::Deserialize;

use super::text::{begin_item, end_item, end_list, push_number};
use super::{Counter, Dispatcher};
use crate::Engine;
use crate::commands::{ALL_QUEUES, history_row};
use crate::queue::QueueIx;
use crate::stats::{HistogramDelta, Interval, IntervalDelta};

#[derive(Default)]
pub(crate) struct MinuteJournal {
    /// What the current batch counted.
    batch: Vec<MinuteDelta>,
    /// Queues that were deleted in the current batch.
    deleted: Vec<QueueName>,
    /// Queues with counts that are only in the journal; `None` is the total.
    dirty: BTreeSet<Option<QueueIx>>,
    /// During a restart: what is known so far, by queue.
    restored: BTreeMap<Arc<str>, Restored>,
    /// During a restart: minutes before this one are complete and not read.
    first_read: Millis,
}

/// What one batch counted for one queue in one minute.
struct MinuteDelta {
    /// `None` if the queue was deleted since; then it counts for the total only.
    queue: Option<QueueIx>,
    /// Start of the minute.
    minute: Millis,
    delta: IntervalDelta,
    /// It was added to the statistics.
    counted: bool,
}

/// Queue; minutes before the entry's time; jobs enqueued, completed, failed and dispatched; run
/// times and waits in ms, each as a sum and counts by bucket.
#[derive(Debug, Deserialize)]
pub(super) struct MinuteEntry(
    String,
    i64,
    u32,
    u32,
    u32,
    i32,
    u64,
    Vec<(u16, u32)>,
    u64,
    Vec<(u16, u32)>,
);

/// A queue's statistics during a restart.
#[derive(Default)]
struct Restored {
    /// The last minute whose row is complete.
    closed: Option<Millis>,
    /// Later minutes.
    open: BTreeMap<Millis, OpenMinute>,
}

#[derive(Default)]
struct OpenMinute {
    interval: Interval,
    /// The row was written early and includes batches up to this one.
    as_of: Option<u64>,
    /// The first batch that is only in the journal.
    first: Option<u64>,
}

/// The member that a row written early has besides the interval.
#[derive(Deserialize)]
struct RowState {
    as_of: Option<u64>,
}

impl MinuteJournal {
    /// Items that the entry of the current batch will have.
    pub fn len(&self) -> usize {
        self.batch.len() + self.deleted.len()
    }

    /// The current batch has counts of this queue.
    pub fn has_counts_of(&self, queue: QueueIx) -> bool {
        self.batch.iter().any(|counted| counted.queue == Some(queue))
    }

    /// The queue is gone and its minutes are written.
    pub fn forget(&mut self, queue: QueueIx) {
        self.dirty.remove(&Some(queue));
    }

    /// Counts of the current batch that are not in the statistics yet, of a queue or of all.
    fn pending(&self, queue: Option<QueueIx>) -> impl Iterator<Item = &MinuteDelta> {
        let batch = self.batch.iter().filter(|counted| !counted.counted);
        batch.filter(move |counted| queue.is_none() || counted.queue == queue)
    }

    pub fn begin_replay(&mut self, last_commit: Millis) {
        self.first_read = Period::first_read(last_commit);
    }

    /// Takes in a row of a minute during a restart. Returns the interval if the row is complete.
    pub fn restore(&mut self, row: &HistoryRow, now: Millis) -> Result<Option<Interval>, String> {
        let interval: Interval = serde_json::from_slice(&row.data).map_err(|e| e.to_string())?;
        let state: RowState = serde_json::from_slice(&row.data).map_err(|e| e.to_string())?;
        let restored = self.restored.entry(row.queue.clone()).or_default();
        // Older versions wrote the current minute when they stopped, without a batch number.
        let under_way = row.at >= Period::Minute.start_of(now);
        let as_of = state.as_of.or(under_way.then_some(u64::MAX));
        if as_of.is_none() {
            restored.closed = restored.closed.max(Some(row.at));
            return Ok(Some(interval));
        }
        restored.open.insert(row.at, OpenMinute { interval, as_of, first: None });
        Ok(None)
    }

    /// The queue was deleted: entries before this one are about an earlier queue of the same name.
    /// Rows are newer than the deletion.
    pub(super) fn replay_deleted(&mut self, queue: &str) {
        if let Some(restored) = self.restored.get_mut(queue) {
            restored.open.retain(|_, minute| minute.as_of.is_some());
        }
    }

    fn replay(&mut self, number: u64, queue: &str, minute: Millis, delta: &IntervalDelta) {
        if !self.restored.contains_key(queue) {
            self.restored.insert(queue.into(), Restored::default());
        }
        let restored = self.restored.get_mut(queue).expect("it was just inserted");
        if restored.closed.is_some_and(|closed| minute <= closed) {
            return;
        }
        let open = restored.open.entry(minute).or_default();
        if open.as_of.is_none_or(|as_of| number > as_of) {
            open.interval.add(delta);
            open.first.get_or_insert(number);
        }
    }
}

impl Engine {
    /// Where counts of a queue in the current minute are added.
    pub(crate) fn pending_minute(&mut self, ix: QueueIx, minute: Millis) -> &mut IntervalDelta {
        let stats = &mut self.queues.get_mut(ix).stats;
        let batch = &mut self.journal.minutes.batch;
        if stats.batch == 0 {
            let delta = IntervalDelta::default();
            batch.push(MinuteDelta { queue: Some(ix), minute, delta, counted: false });
            stats.batch = batch.len() as u32;
        }
        &mut batch[stats.batch as usize - 1].delta
    }

    /// Adds the current batch's counts of a queue to the statistics.
    pub(crate) fn count_minute(&mut self, ix: QueueIx) {
        let index = std::mem::take(&mut self.queues.get_mut(ix).stats.batch) as usize;
        if let Some(counted) = index.checked_sub(1).map(|i| &mut self.journal.minutes.batch[i]) {
            counted.counted = true;
            for stats in [&mut self.queues.get_mut(ix).stats, &mut self.total] {
                stats.minute.add(&counted.delta);
                stats.minute_at = counted.minute;
            }
        }
    }

    /// The same for all queues.
    pub(crate) fn count_minutes(&mut self) {
        let pending = self.journal.minutes.pending(None).filter_map(|counted| counted.queue);
        for ix in pending.collect::<Vec<_>>() {
            self.count_minute(ix);
        }
    }

    /// The current minute of a queue, or of all together.
    pub(crate) fn current_minute(&self, queue: Option<QueueIx>) -> Interval {
        let now = self.wall();
        let stats = queue.map_or(&self.total, |ix| &self.queues.get(ix).stats);
        let mut minute = stats.current(now);
        let pending = self.journal.minutes.pending(queue);
        let pending = pending.filter(|counted| counted.minute == Period::Minute.start_of(now));
        pending.for_each(|counted| minute.add(&counted.delta));
        minute
    }

    /// A queue is about to be deleted: it loses its statistics, but the total keeps them.
    pub(crate) fn delete_minutes(&mut self, ix: QueueIx) {
        self.count_minute(ix);
        let name = self.queues.get(ix).name.clone();
        let minutes = &mut self.journal.minutes;
        let of_queue = minutes.batch.iter_mut().filter(|counted| counted.queue == Some(ix));
        of_queue.for_each(|counted| counted.queue = None);
        minutes.dirty.remove(&Some(ix));
        minutes.deleted.push(name);
    }

    pub(super) fn write_minutes(&mut self, out: &mut String) {
        self.count_minutes();
        let deleted = std::mem::take(&mut self.journal.minutes.deleted);
        if !deleted.is_empty() {
            end_list(out, r#""deleted":["#);
            deleted.iter().for_each(|name| out.extend(["\"", &**name, "\","]));
        }
        let batch = std::mem::take(&mut self.journal.minutes.batch);
        if batch.is_empty() {
            return;
        }
        let (number, now) = (self.journal.number, Period::Minute.start_of(self.wall()));
        end_list(out, r#""minutes":["#);
        for MinuteDelta { queue, minute, delta, .. } in batch {
            begin_item(out, &[queue.map_or(ALL_QUEUES, |ix| &*self.queues.get(ix).name)]);
            push_number(out, now.since(minute) / Period::Minute.ms());
            push_number(out, delta.enqueued);
            push_number(out, delta.completed);
            push_number(out, delta.failed);
            push_number(out, delta.dispatched);
            for histogram in [&delta.run_ms, &delta.wait_ms] {
                push_number(out, histogram.sum);
                push_buckets(out, &histogram.buckets);
            }
            end_item(out);
            self.mark_minute_dirty(None, number);
            if let Some(ix) = queue {
                self.mark_minute_dirty(queue, number);
                if delta.dispatches() != Default::default() {
                    self.mark_dispatches_dirty(Dispatcher::Queue(ix), number);
                }
            }
        }
    }

    fn mark_minute_dirty(&mut self, queue: Option<QueueIx>, number: u64) {
        if self.journal.minutes.dirty.insert(queue) {
            self.journal.dirty.push_back((number, Counter::Minute(queue)));
        }
    }

    pub(super) fn flush_minute(&mut self, queue: Option<QueueIx>, out: &mut Vec<Mutation>) {
        if !self.journal.minutes.dirty.remove(&queue) {
            // The queue is gone, and its index may be in use again.
            return;
        }
        out.extend(self.unfinished_row(queue));
    }

    /// A row of the current minute that includes the last batch; `None` if nothing was counted.
    fn unfinished_row(&self, queue: Option<QueueIx>) -> Option<Mutation> {
        let (name, stats) = match queue {
            Some(ix) => (&*self.queues.get(ix).name, &self.queues.get(ix).stats),
            None => (ALL_QUEUES, &self.total),
        };
        if stats.minute.is_empty() {
            return None;
        }
        let mut row = history_row(Period::Minute, stats.minute_at, name, &stats.minute);
        let mut data = row.data.to_vec();
        data.pop();
        data.extend_from_slice(format!(r#","as_of":{}}}"#, self.journal.number).as_bytes());
        row.data = data.into();
        Some(Mutation::History(row))
    }

    pub(super) fn replay_minute(&mut self, number: u64, at: Millis, entry: &MinuteEntry) {
        let &MinuteEntry(ref queue, ago, enqueued, completed, failed, dispatched, ..) = entry;
        let MinuteEntry(.., ran, run_buckets, waited, wait_buckets) = entry;
        let delta = IntervalDelta {
            enqueued,
            completed,
            failed,
            dispatched,
            run_ms: HistogramDelta { sum: *ran, buckets: run_buckets.clone() },
            wait_ms: HistogramDelta { sum: *waited, buckets: wait_buckets.clone() },
        };
        self.replay_dispatches(number, at, &format!("queue/{queue}"), delta.dispatches());
        let minute = Period::Minute.start_of(at).saturating_sub_ms(ago * Period::Minute.ms());
        if minute < self.journal.minutes.first_read {
            return;
        }
        self.journal.minutes.replay(number, ALL_QUEUES, minute, &delta);
        if self.queues.find(queue).is_some() {
            self.journal.minutes.replay(number, queue, minute, &delta);
        }
    }

    /// Ends a replay: minutes that have ended are written and added to their hours.
    pub(crate) fn end_minute_replay(&mut self, hours: &mut BTreeMap<(Millis, Arc<str>), Interval>) {
        let now = Period::Minute.start_of(self.wall());
        self.minute = Some(now);
        for (name, restored) in std::mem::take(&mut self.journal.minutes.restored) {
            let queue = self.queues.find(&name);
            for (minute, OpenMinute { interval, as_of, first }) in restored.open {
                if minute < now {
                    self.write_interval(Period::Minute, minute, &name, &interval);
                    let hour = Period::Hour.start_of(minute);
                    hours.entry((hour, name.clone())).or_default().merge(&interval);
                    continue;
                }
                if queue.is_none() && &*name != ALL_QUEUES {
                    continue;
                }
                self.restore_minute(queue, minute, &interval);
                if as_of == Some(u64::MAX) {
                    let row = self.unfinished_row(queue);
                    self.out.mutations.extend(row);
                }
                if let Some(first) = first {
                    self.mark_minute_dirty(queue, first);
                }
            }
        }
        self.journal.sort_dirty();
    }
}

fn push_buckets(out: &mut String, buckets: &[(u16, u32)]) {
    out.push('[');
    for (bucket, count) in buckets {
        begin_item(out, &[]);
        push_number(out, *bucket);
        push_number(out, *count);
        end_item(out);
    }
    if !buckets.is_empty() {
        out.pop();
    }
    out.push_str("],");
}
