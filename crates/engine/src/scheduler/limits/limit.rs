//! A limit: one key with its counters, settings and waitlists.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{LimitNumbers, Millis, Rate};

use super::booked_jobs::BookedJobs;
use super::opening::Bucket;
use super::order::KeyOrder;
use super::pace::Pace;
use super::partition::Partition;
use super::settings::LimitSettings;
use super::table::GateIx;
use super::{History, Sleepers, Waitlist, Window};
use crate::Now;
use crate::queue::QueueIx;
use crate::scheduler::small_map::SmallMap;
use crate::tenant::TenantIx;

/// A key with its counters and settings, for all tenants or for one.
pub(crate) struct Limit {
    pub partition: Partition,
    /// Active jobs that count.
    pub active: u64,
    /// Active jobs that name the key. `named_elsewhere` are those whose queue or type is not the one
    /// the key stands for.
    pub named: u64,
    pub named_elsewhere: u64,
    /// Sorted by period, shortest first.
    pub(super) windows: Vec<Window>,
    pub(super) history: History,
    pub(super) pace: Pace,
    /// The pace before the last start, to undo it.
    pace_before: Option<Pace>,
    pub settings: LimitSettings,
    /// Incremented whenever `settings` change.
    pub version: u32,
    pub gates: BTreeSet<GateIx>,
    pub waitlists: SmallMap<QueueIx, Box<Waitlist>>,
    pub order: KeyOrder,
    pub sleepers: Sleepers,
    /// When to check whether a bucket has opened, in monotonic milliseconds.
    pub timers: BTreeMap<Bucket, u64>,
    pub booked_jobs: BookedJobs,
    /// How often in a row a job was rescheduled because no slot was free. It lengthens the next wait.
    pub times_rescheduled: u32,
    /// For a key that tenants share: the tenants whose own part of it is paused, each with the gate of
    /// that part.
    pub own_parts: BTreeMap<TenantIx, GateIx>,
}

/// The least time for which the starts of a key are remembered.
const LEAST_KEPT_MS: i64 = 60_000;
/// Periods with a window. Other periods are counted in the window of the next longer one.
const MOST_WINDOWS: usize = 16;
impl Limit {
    pub fn new(partition: Partition) -> Self {
        Self {
            partition,
            active: 0,
            named: 0,
            named_elsewhere: 0,
            windows: Vec::new(),
            history: History::default(),
            pace: Pace::none(),
            pace_before: None,
            settings: LimitSettings::default(),
            version: 0,
            gates: BTreeSet::new(),
            waitlists: SmallMap::default(),
            order: KeyOrder::default(),
            sleepers: Sleepers::default(),
            timers: BTreeMap::new(),
            booked_jobs: BookedJobs::default(),
            times_rescheduled: 0,
            own_parts: BTreeMap::new(),
        }
    }

    /// Whether it has settings, which also apply to jobs that do not name the key.
    pub fn has_settings(&self) -> bool {
        self.settings.pause.is_some()
            || self.settings.replaced.is_some()
            || self.settings.declared.is_some()
    }

    /// The numbers that apply to jobs which carry `job_numbers`: an override replaces them until it
    /// expires, a declaration for good.
    pub fn numbers(&self, job_numbers: LimitNumbers, now: Millis) -> LimitNumbers {
        match &self.settings.replaced {
            Some(replaced) if replaced.expires > now => replaced.numbers,
            _ => self.settings.declared.unwrap_or(job_numbers),
        }
    }

    /// Counts starts in the periods of these numbers from now on.
    pub fn watch(&mut self, numbers: LimitNumbers) {
        for rate in [numbers.rate, numbers.throttle].into_iter().flatten() {
            self.window(rate);
        }
    }

    /// Records a start.
    pub fn start(&mut self, job_numbers: LimitNumbers, now: Now) {
        self.active += 1;
        let mono = now.mono as i64;
        let numbers = self.numbers(job_numbers, now.wall);
        self.watch(numbers);
        self.windows.iter_mut().for_each(|window| window.record(mono, 1));
        self.history.record(mono, 1);
        self.pace_before = Some(self.pace);
        match numbers.throttle {
            Some(rate) => self.pace.record(rate, mono),
            None => self.pace.note(mono),
        }
    }

    /// Removes a start that did not happen. The pace is restored if no later start has been recorded.
    pub fn undo_start(&mut self, at: i64) {
        self.windows.iter_mut().for_each(|window| window.undo(at));
        self.history.undo(at);
        if self.pace.started_us() == at.saturating_mul(1_000)
            && let Some(before) = self.pace_before.take()
        {
            self.pace = before;
        }
    }

    /// Whether the times of starts are recorded.
    pub fn is_timed(&self) -> bool {
        !self.windows.is_empty()
    }

    /// Number of windows that record each start.
    pub fn windows(&self) -> usize {
        self.windows.len()
    }

    /// The window that counts for a period: its own, or the next longer one, which has all of its
    /// starts.
    pub(super) fn window_for(&self, period_ms: u64) -> Option<&Window> {
        self.windows.get(self.first_from(period_ms))
    }

    pub(super) fn first_from(&self, period_ms: u64) -> usize {
        self.windows.partition_point(|window| window.period_ms() < period_ms)
    }

    pub(super) fn window(&mut self, rate: Rate) {
        let index = self.first_from(rate.period_ms);
        if self.windows.get(index).is_none_or(|window| window.period_ms() != rate.period_ms) {
            self.add_window(index, rate);
        }
        let index = self.first_from(rate.period_ms);
        self.windows[index].admit(rate.limit);
    }

    /// Adds a window for a period. If there are too many, the period closest to the next longer one
    /// goes without.
    fn add_window(&mut self, index: usize, rate: Rate) {
        let mut periods: Vec<u64> = self.windows.iter().map(Window::period_ms).collect();
        periods.insert(index, rate.period_ms);
        let dropped = surplus_period(&periods);
        if dropped == Some(index) {
            return;
        }
        let mut window = Window::new(rate.period_ms, rate.limit);
        match self.windows.get(index) {
            Some(longer) => window.copy(longer.starts()),
            None => window.copy(self.history.starts()),
        }
        self.windows.insert(index, window);
        dropped.map(|dropped| self.windows.remove(dropped));
    }

    /// Starts within this rate's period, and when the first of them leaves it.
    pub fn count_in_period(&self, rate: Rate, mono: i64) -> (u64, Option<i64>) {
        let Some(window) = self.window_for(rate.period_ms) else { return (0, None) };
        let count = window.count_within(rate.period_ms, mono);
        let first = window.starts().map(|(at, _)| at).find(|at| at + rate.period_ms as i64 > mono);
        (count, first.map(|at| at + rate.period_ms as i64))
    }

    /// When the next evenly spaced start is due.
    pub fn next_paced(&self, rate: Rate) -> Option<i64> {
        self.pace.due_us().map(|_| self.pace.next_ms(rate))
    }

    /// Whether no job uses it and it has no settings.
    pub fn is_unused(&self) -> bool {
        self.active == 0
            && self.gates.is_empty()
            && self.own_parts.is_empty()
            && self.settings == LimitSettings::default()
    }

    /// Until when starts are remembered; `None` if there are none.
    pub fn remembered_until(&self) -> Option<i64> {
        let longest = self.windows.iter().map(Window::period_ms).max()?;
        let kept = i64::try_from(longest).unwrap_or(i64::MAX).max(LEAST_KEPT_MS);
        self.history.last().map(|last| last.saturating_add(kept))
    }

    /// When a job is admitted that has `ahead` booked jobs before it, the last of them at `last`. Jobs
    /// ahead may carry other numbers, so the result is no later than when this job's numbers allow a
    /// start after `last`.
    pub fn admitted_at(
        &self,
        job_numbers: LimitNumbers,
        ahead: u64,
        last: Option<i64>,
        now: Now,
    ) -> i64 {
        let mono = now.mono as i64;
        let numbers = self.numbers(job_numbers, now.wall);
        let soonest = |after: &dyn Fn(u64) -> i64, distance_ms: u64| {
            let distance = i64::try_from(distance_ms).unwrap_or(i64::MAX);
            let alone = last.map(|last| after(0).max(last.saturating_add(distance)));
            after(ahead).min(alone.unwrap_or(i64::MAX))
        };
        let windows = [numbers.rate, numbers.throttle].into_iter().flatten();
        let windows = windows
            .map(|rate| soonest(&|ahead| self.room_after(rate, ahead, mono), rate.period_ms));
        let paced = numbers.throttle.map(|rate| {
            soonest(&|ahead| self.pace.after_ms(rate, ahead), rate.interval_us().div_ceil(1_000))
        });
        windows.chain(paced).max().unwrap_or(mono)
    }

    /// When a window has room for one more start after `ahead` others.
    fn room_after(&self, rate: Rate, ahead: u64, mono: i64) -> i64 {
        let limit = u64::from(rate.limit.max(1));
        let opens = self
            .window_for(rate.period_ms)
            .and_then(|window| window.opens_within(rate.period_ms, rate.limit, ahead % limit + 1));
        let periods = i64::try_from((ahead / limit).saturating_mul(rate.period_ms));
        opens.unwrap_or(mono).max(mono).saturating_add(periods.unwrap_or(i64::MAX))
    }
}

/// The period that can do without a window, if there are too many: the one closest to the next longer
/// one. `periods` are sorted.
fn surplus_period(periods: &[u64]) -> Option<usize> {
    if periods.len() <= MOST_WINDOWS {
        return None;
    }
    let growth = |n: &usize| periods[n + 1] as f64 / periods[*n].max(1) as f64;
    (0..periods.len() - 1).min_by(|a, b| growth(a).total_cmp(&growth(b)))
}
