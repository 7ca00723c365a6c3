//! Statistics of the minute under way, in the journal.
//!
//! A minute that is over is a row of the history. Until then the journal has what each batch added to
//! it. Where the journal would get too long, the minute is written before it is over, with the number
//! of the last batch that it includes.

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
    /// What the batch under way counted.
    batch: Vec<Counted>,
    /// Queues that were deleted in the batch under way.
    deleted: Vec<QueueName>,
    /// Those with counts that are in the journal only; `None` is all queues together.
    dirty: BTreeSet<Option<QueueIx>>,
    /// While a start reads: what is known so far, by queue.
    restored: BTreeMap<Arc<str>, Restored>,
    /// What is older was written, and is not read.
    first_read: Millis,
}

/// What one batch counted of one queue in one minute.
struct Counted {
    /// `None` if the queue was deleted since: it counts for all queues together only.
    queue: Option<QueueIx>,
    /// When the minute began.
    minute: Millis,
    delta: IntervalDelta,
    /// The statistics have it already.
    counted: bool,
}

/// Queue; how many minutes before the entry; jobs enqueued, completed, failed and dispatched; run times and
/// waits, each as the sum and the counts by bucket.
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

/// What a start knows of a queue's statistics.
#[derive(Default)]
struct Restored {
    /// The last minute that was written when it was over.
    closed: Option<Millis>,
    /// Later minutes.
    open: BTreeMap<Millis, OpenMinute>,
}

#[derive(Default)]
struct OpenMinute {
    interval: Interval,
    /// It was written before it was over, and has all batches up to this one.
    as_of: Option<u64>,
    /// The first batch that is in the journal only.
    first: Option<u64>,
}

/// What a row of the history has besides the interval.
#[derive(Deserialize)]
struct RowState {
    as_of: Option<u64>,
}

impl MinuteJournal {
    /// How many items the entry of the batch under way will have.
    pub fn len(&self) -> usize {
        self.batch.len() + self.deleted.len()
    }

    /// The batch under way tells of this queue.
    pub fn names(&self, queue: QueueIx) -> bool {
        self.batch.iter().any(|counted| counted.queue == Some(queue))
    }

    /// The queue is gone, and its minutes are written.
    pub fn forget(&mut self, queue: QueueIx) {
        self.dirty.remove(&Some(queue));
    }

    /// What the batch under way counted and the statistics do not have yet: of a queue, or of all.
    fn pending(&self, queue: Option<QueueIx>) -> impl Iterator<Item = &Counted> {
        let batch = self.batch.iter().filter(|counted| !counted.counted);
        batch.filter(move |counted| queue.is_none() || counted.queue == queue)
    }

    pub fn begin_replay(&mut self, last_commit: Millis) {
        self.first_read = Period::first_read(last_commit);
    }

    /// A row that a start has read, of a minute. Gives it back if the minute was over by then.
    pub fn restore(&mut self, row: &HistoryRow, now: Millis) -> Result<Option<Interval>, String> {
        let interval: Interval = serde_json::from_slice(&row.data).map_err(|e| e.to_string())?;
        let state: RowState = serde_json::from_slice(&row.data).map_err(|e| e.to_string())?;
        let restored = self.restored.entry(row.queue.clone()).or_default();
        // Versions before wrote the minute under way when they stopped, without a number.
        let under_way = row.at >= Period::Minute.start_of(now);
        let as_of = state.as_of.or(under_way.then_some(u64::MAX));
        if as_of.is_none() {
            restored.closed = restored.closed.max(Some(row.at));
            return Ok(Some(interval));
        }
        restored.open.insert(row.at, OpenMinute { interval, as_of, first: None });
        Ok(None)
    }

    /// The queue was deleted: what came before is not of a queue that has its name now. Rows that were
    /// read are from after that.
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
    /// What is counted for a queue in the minute under way is to be added to this.
    pub(crate) fn pending_minute(&mut self, ix: QueueIx, minute: Millis) -> &mut IntervalDelta {
        let stats = &mut self.queues.get_mut(ix).stats;
        let batch = &mut self.journal.minutes.batch;
        if stats.batch == 0 {
            let delta = IntervalDelta::default();
            batch.push(Counted { queue: Some(ix), minute, delta, counted: false });
            stats.batch = batch.len() as u32;
        }
        &mut batch[stats.batch as usize - 1].delta
    }

    /// Adds what the batch under way counted for a queue to the statistics.
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

    /// The minute under way of a queue, or of all together.
    pub(crate) fn current_minute(&self, queue: Option<QueueIx>) -> Interval {
        let now = self.wall();
        let stats = queue.map_or(&self.total, |ix| &self.queues.get(ix).stats);
        let mut minute = stats.current(now);
        let pending = self.journal.minutes.pending(queue);
        let pending = pending.filter(|counted| counted.minute == Period::Minute.start_of(now));
        pending.for_each(|counted| minute.add(&counted.delta));
        minute
    }

    /// A queue is to be deleted: it loses its statistics, all queues together keep theirs.
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
        for Counted { queue, minute, delta, .. } in batch {
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
            // The queue is gone; another may have its number now.
            return;
        }
        out.extend(self.unfinished_row(queue));
    }

    /// The minute under way, complete up to the last batch; `None` if nothing was counted in it.
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

    /// A start has read everything. Minutes that are over by now are written, and go to their hours.
    pub(crate) fn end_minutes(&mut self, hours: &mut BTreeMap<(Millis, Arc<str>), Interval>) {
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
