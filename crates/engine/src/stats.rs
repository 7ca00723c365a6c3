//! Statistics of queues by interval: counts, run times and waits.

use std::collections::{BTreeMap, VecDeque};

use rota_model::mutation::Period;
use rota_model::{Millis, Seq};
use serde::{Deserialize, Serialize};

use crate::meters::{LastMinute, Sum};

/// One interval of one queue, or of all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    pub enqueued: u64,
    pub completed: u64,
    /// Executions that failed, retried or not.
    pub failed: u64,
    #[serde(default)]
    pub dispatched: u64,
    /// Run times in ms.
    pub run_ms: Histogram,
    /// Time from acceptance to the first start, in ms.
    pub wait_ms: Histogram,
}

impl Interval {
    pub fn merge(&mut self, other: &Interval) {
        self.enqueued += other.enqueued;
        self.completed += other.completed;
        self.failed += other.failed;
        self.dispatched += other.dispatched;
        self.run_ms.merge(&other.run_ms);
        self.wait_ms.merge(&other.wait_ms);
    }

    pub(crate) fn add(&mut self, delta: &IntervalDelta) {
        self.enqueued += u64::from(delta.enqueued);
        self.completed += u64::from(delta.completed);
        self.failed += u64::from(delta.failed);
        self.dispatched = self.dispatched.saturating_add_signed(delta.dispatched.into());
        self.run_ms.add(&delta.run_ms);
        self.wait_ms.add(&delta.wait_ms);
    }

    /// Executions that completed or failed.
    #[must_use]
    pub fn processed(&self) -> u64 {
        self.completed + self.failed
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Interval::default()
    }
}

/// What one batch adds to an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct IntervalDelta {
    pub enqueued: u32,
    pub completed: u32,
    pub failed: u32,
    /// Claims that never reached their worker are subtracted.
    pub dispatched: i32,
    pub run_ms: HistogramDelta,
    pub wait_ms: HistogramDelta,
}

impl IntervalDelta {
    pub fn dispatches(&self) -> Dispatches {
        let waits = self.wait_ms.buckets.iter().map(|(_, count)| count).sum();
        Dispatches { count: self.dispatched, waits, waited_ms: self.wait_ms.sum }
    }
}

/// What one batch adds to a histogram: a few buckets, unsorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HistogramDelta {
    pub sum: u64,
    pub buckets: Vec<(u16, u32)>,
}

impl HistogramDelta {
    pub fn record(&mut self, value: u64) {
        self.sum = self.sum.saturating_add(value);
        let bucket = bucket(value);
        match self.buckets.iter_mut().find(|(other, _)| *other == bucket) {
            Some((_, count)) => *count += 1,
            None => self.buckets.push((bucket, 1)),
        }
    }
}

/// Dispatches, and how long jobs waited, where known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Dispatches {
    /// Claims that never reached their worker are subtracted.
    pub count: i32,
    pub waits: u32,
    pub waited_ms: u64,
}

impl Dispatches {
    pub const ONE: Dispatches = Dispatches { count: 1, waits: 0, waited_ms: 0 };
    /// A claim that never reached its worker.
    pub const UNDONE: Dispatches = Dispatches { count: -1, waits: 0, waited_ms: 0 };

    pub fn jobs(self) -> u64 {
        u64::try_from(self.count).unwrap_or(0)
    }

    pub fn mean_wait_ms(self) -> Option<f64> {
        (self.waits > 0).then(|| self.waited_ms as f64 / f64::from(self.waits))
    }
}

impl Sum for Dispatches {
    fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.waits = self.waits.saturating_add(other.waits);
        self.waited_ms = self.waited_ms.saturating_add(other.waited_ms);
    }
}

/// Statistics of one queue, or of all: the last minute, the current minute and the current hour.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub dispatches: LastMinute<Dispatches>,
    /// The minute in which something was last counted, and its start.
    pub minute: Interval,
    pub minute_at: Millis,
    /// Closed minutes of one hour, and its start.
    pub hour: Interval,
    pub hour_at: Millis,
    /// 1 + the index of the current batch's counts in the journal; 0 if there are none.
    pub batch: u32,
    /// Whether it is listed in `OpenIntervals`.
    pub minute_listed: bool,
    pub hour_listed: bool,
}

/// Intervals that have ended and are not written yet.
pub(crate) type ClosedIntervals = Vec<(Period, Millis, Interval)>;

impl Stats {
    /// Empty statistics that keep their place in `OpenIntervals`.
    pub fn emptied(&self) -> Self {
        let Self { minute_listed, hour_listed, .. } = *self;
        Self { minute_listed, hour_listed, ..Self::default() }
    }

    /// Whether it is listed in `OpenIntervals`.
    pub fn is_listed(&self) -> bool {
        self.minute_listed || self.hour_listed
    }

    /// The current minute.
    pub fn current(&self, now: Millis) -> Interval {
        let this_minute = self.minute_at == Period::Minute.start_of(now);
        if this_minute { self.minute.clone() } else { Interval::default() }
    }

    /// Moves intervals that have ended into `closed`.
    pub fn close(&mut self, now: Millis, closed: &mut ClosedIntervals) {
        if self.minute_at < Period::Minute.start_of(now) && !self.minute.is_empty() {
            let minute = std::mem::take(&mut self.minute);
            self.close_hour(Period::Hour.start_of(self.minute_at), closed);
            self.hour.merge(&minute);
            self.hour_at = Period::Hour.start_of(self.minute_at);
            closed.push((Period::Minute, self.minute_at, minute));
        }
        self.close_hour(Period::Hour.start_of(now), closed);
    }

    fn close_hour(&mut self, now: Millis, closed: &mut ClosedIntervals) {
        if self.hour_at < now && !self.hour.is_empty() {
            closed.push((Period::Hour, self.hour_at, std::mem::take(&mut self.hour)));
        }
    }
}

/// A histogram of values, exact to within an eighth.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    sum: u64,
    buckets: BTreeMap<u16, u64>,
}

impl Histogram {
    pub fn record(&mut self, value: u64) {
        self.sum = self.sum.saturating_add(value);
        *self.buckets.entry(bucket(value)).or_default() += 1;
    }

    fn add(&mut self, delta: &HistogramDelta) {
        self.sum = self.sum.saturating_add(delta.sum);
        for &(bucket, count) in &delta.buckets {
            *self.buckets.entry(bucket).or_default() += u64::from(count);
        }
    }

    pub fn merge(&mut self, other: &Histogram) {
        self.sum = self.sum.saturating_add(other.sum);
        for (&bucket, &count) in &other.buckets {
            *self.buckets.entry(bucket).or_default() += count;
        }
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.values().sum()
    }

    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    /// The lower bound of the bucket that contains this quantile (0 to 1).
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let count = self.count();
        let rank = ((count as f64 * part).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        for (&bucket, &n) in &self.buckets {
            seen += n;
            if seen >= rank {
                return Some(lower_bound(bucket));
            }
        }
        None
    }
}

/// Values 0 to 15 have a bucket each; above that, each power of two is divided into eight.
fn bucket(value: u64) -> u16 {
    if value < 16 {
        return value as u16;
    }
    let exponent = 63 - value.leading_zeros() as u16;
    let eighth = (value >> (exponent - 3)) as u16 & 7;
    16 + (exponent - 4) * 8 + eighth
}

fn lower_bound(bucket: u16) -> u64 {
    if bucket < 16 {
        return u64::from(bucket);
    }
    let exponent = (bucket - 16) / 8 + 4;
    let eighth = u64::from((bucket - 16) % 8);
    (8 + eighth) << (exponent - 3)
}

/// Maps sequence numbers to acceptance times approximately. Numbers grow with time, so a sparse
/// list of samples is enough.
#[derive(Debug, Default)]
pub(crate) struct SeqClock {
    samples: VecDeque<(Seq, Millis)>,
    every_ms: i64,
}

const MOST_SAMPLES: usize = 16_384;
const FINEST_MS: i64 = 20;

impl SeqClock {
    /// Must be called for each new job.
    pub fn note(&mut self, seq: Seq, now: Millis) {
        self.every_ms = self.every_ms.max(FINEST_MS);
        if self.samples.back().is_some_and(|(_, at)| now.0 - at.0 < self.every_ms) {
            return;
        }
        if self.samples.len() == MOST_SAMPLES {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.every_ms *= 2;
        }
        self.samples.push_back((seq, now));
    }

    /// Whether the job was accepted by this process.
    pub fn knows(&self, seq: Seq) -> bool {
        self.samples.front().is_some_and(|(first, _)| *first <= seq)
    }

    /// When the job was accepted; `None` if that was before this process started.
    pub fn accepted_at(&self, seq: Seq) -> Option<Millis> {
        let after = self.samples.partition_point(|&(sample, _)| sample <= seq);
        after.checked_sub(1).map(|i| self.samples[i].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_tight_and_in_order() {
        let mut last = 0;
        for value in (0..100_000).chain((20..60).map(|n| 1u64 << n)) {
            let low = lower_bound(bucket(value));
            assert!(low <= value && value - low <= value / 8, "{value} {low}");
            assert!(bucket(value) >= last || value >= 1 << 20);
            last = bucket(value);
        }
    }

    #[test]
    fn quantiles_and_mean() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile(0.5), histogram.mean()), (None, None));
        (1..=10).for_each(|n| histogram.record(n));
        assert_eq!(histogram.quantile(0.5), Some(5));
        assert_eq!(histogram.quantile(1.0), Some(10));
        assert_eq!(histogram.quantile(0.0), Some(1));
        assert_eq!(histogram.mean(), Some(5.5));
    }

    #[test]
    fn the_clock_stays_small_and_near() {
        let mut clock = SeqClock::default();
        (0..100_000).for_each(|n| clock.note(Seq(n), Millis(n as i64 * 25)));
        assert!(clock.samples.len() <= MOST_SAMPLES);
        let told = clock.accepted_at(Seq(50_000)).unwrap().0;
        assert!((50_000 * 25 - told).abs() < 1_000, "{told}");
    }
}
