//! A limit: one key with its counters, settings and waitlists.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rota_model::{LimitKey, LimitNumbers, Millis, Rate, TenantId};
use serde::{Deserialize, Serialize};

use super::booked_jobs::BookedJobs;
use super::order::KeyOrder;
use super::pace::Pace;
use super::table::GateIx;
use super::{History, LimitKind, Sleepers, Waitlist, Window};
use crate::Now;
use crate::queue::QueueIx;
use crate::scheduler::small_map::SmallMap;

/// What is counted together: a key, for all tenants or for one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Partition {
    pub key: LimitKey,
    pub tenant: Option<TenantId>,
}

impl Partition {
    /// The name on disk. Tenant ids contain no slash.
    pub fn name(&self) -> String {
        match &self.tenant {
            Some(tenant) => format!("{tenant}/{}", self.key),
            None => format!("/{}", self.key),
        }
    }

    /// The tenant that owns the partition: the one it counts for, or the one whose queue the key
    /// names.
    pub fn owner(&self) -> Option<TenantId> {
        let namespace = || self.key.namespace().and_then(|id| TenantId::parse(id).ok());
        self.tenant.clone().or_else(namespace)
    }

    pub fn parse(name: &str) -> Option<Self> {
        let (tenant, key) = name.split_once('/')?;
        let tenant = match tenant {
            "" => None,
            id => Some(TenantId::parse(id).ok()?),
        };
        Some(Self { key: LimitKey::stored(key), tenant })
    }
}

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
}

/// One reason for which a limit is closed. Everything in a bucket opens at the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bucket {
    /// The version of the limit's settings: after a change, the same numbers may close other jobs.
    pub version: u32,
    pub cause: Cause,
}

/// What keeps a limit closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Cause {
    /// All of this many slots are in use.
    Slots(u32),
    /// The period has its full number of starts, or the last start is too recent.
    Timed { kind: LimitKind, limit: u32, period_ms: u64 },
    /// The same for keys with more than `MOST_TIMED` sets of numbers: one bucket for all periods, or
    /// intervals between starts, in `up_to / 2 + 1 ..= up_to`. They open at different moments; those
    /// behind the first wait for it.
    TimedAlike { kind: LimitKind, up_to: u64 },
    /// A pause, or a limit of zero: until the pause ends or the settings change.
    Paused,
}

/// What operators, tenants and handlers have set for a key, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LimitSettings {
    /// The key is paused. Stored as `hold`.
    #[serde(default, rename = "hold", skip_serializing_if = "Option::is_none")]
    pub pause: Option<KeyPause>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Override>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<LimitNumbers>,
    /// The declaration comes from the configuration file, which is read at each start, so it is not
    /// stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_file: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// The tenant against whose cap the stored row counts; `None` for the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<TenantId>,
}

impl LimitSettings {
    /// The part that is stored, if there is any.
    pub fn written(&self) -> Option<Self> {
        let declared = self.declared.filter(|_| !self.from_file);
        let has_any = self.pause.is_some() || self.replaced.is_some() || declared.is_some();
        has_any.then(|| Self { declared, from_file: false, ..self.clone() })
    }
}

/// A pause of a key: nothing of it starts before `until`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyPause {
    pub until: Millis,
    pub reason: Arc<str>,
}

/// Numbers that replace all others until they expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Override {
    pub numbers: LimitNumbers,
    pub expires: Millis,
}

/// How many jobs may start now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opening {
    pub free: u64,
    pub closed: Option<Closed>,
}

/// Why no job may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed {
    pub kind: LimitKind,
    pub limit: u64,
    pub current: u64,
    /// In monotonic milliseconds. `None` if only the end of an active job, or new settings, open the
    /// limit.
    pub opens: Option<i64>,
    /// The interval between evenly spaced starts, for limits with a period.
    pub every_ms: Option<u64>,
    pub bucket: Bucket,
    /// The key is paused, or its limit is zero: its jobs wait, and none is dropped or rescheduled.
    pub paused: bool,
}

/// The least time for which the starts of a key are remembered.
const LEAST_KEPT_MS: i64 = 60_000;
/// Periods with a window. Other periods are counted in the window of the next longer one.
const MOST_WINDOWS: usize = 16;
/// Sets of numbers above which similar periods share a bucket.
const MOST_TIMED: usize = 64;

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

    fn bucket(&self, cause: Cause) -> Bucket {
        Bucket { version: self.version, cause }
    }

    fn timed_bucket(&self, kind: LimitKind, rate: Rate) -> Bucket {
        let Rate { limit, period_ms } = rate;
        let of_throttle = kind == LimitKind::Throttle;
        self.bucket(match () {
            () if limit == 0 => Cause::Paused,
            () if self.gates.len() <= MOST_TIMED => Cause::Timed { kind, limit, period_ms },
            () => {
                let distance = if of_throttle { rate.interval_us() } else { period_ms };
                Cause::TimedAlike { kind, up_to: distance.next_power_of_two() }
            }
        })
    }

    /// How many jobs with these numbers may start now, and otherwise why none may.
    pub fn opening(&self, job_numbers: LimitNumbers, now: Now) -> Opening {
        let mono = now.mono as i64;
        let mut opening = Opening { free: u64::MAX, closed: None };
        self.narrow_by_pause(&mut opening, now);
        let numbers = self.numbers(job_numbers, now.wall);
        self.narrow_by_slots(&mut opening, numbers);
        if let Some(rate) = numbers.rate {
            self.narrow_by_window(&mut opening, LimitKind::Rate, rate, mono);
        }
        if let Some(rate) = numbers.throttle {
            self.narrow_by_pace(&mut opening, rate, mono);
            self.narrow_by_window(&mut opening, LimitKind::Throttle, rate, mono);
        }
        let paused = self.is_paused(numbers, now);
        opening.closed.iter_mut().for_each(|closed| closed.paused = paused);
        opening
    }

    /// Whether the key is paused, or its limit is zero.
    fn is_paused(&self, numbers: LimitNumbers, now: Now) -> bool {
        let key_paused = self.settings.pause.as_ref().is_some_and(|pause| pause.until > now.wall);
        let rates = [numbers.rate, numbers.throttle].into_iter().flatten();
        key_paused
            || numbers.concurrency == Some(0)
            || rates.into_iter().any(|rate| rate.limit == 0)
    }

    fn narrow_by_pause(&self, opening: &mut Opening, now: Now) {
        if let Some(pause) = self.settings.pause.as_ref().filter(|pause| pause.until > now.wall) {
            let opens = Some((now.mono as i64).saturating_add(pause.until.since(now.wall)));
            let kind = LimitKind::Pause;
            let bucket = self.bucket(Cause::Paused);
            let (limit, current, every_ms, paused) = (0, 0, None, true);
            let closed = Closed { kind, limit, current, opens, every_ms, bucket, paused };
            opening.close(closed);
        }
    }

    fn narrow_by_slots(&self, opening: &mut Opening, numbers: LimitNumbers) {
        let Some(most) = numbers.concurrency else { return };
        let (limit, current) = (u64::from(most), self.active);
        opening.narrow(limit.saturating_sub(current), || Closed {
            kind: LimitKind::Concurrency,
            limit,
            current,
            opens: None,
            every_ms: None,
            bucket: self.bucket(Cause::Slots(most)),
            paused: false,
        });
    }

    fn narrow_by_pace(&self, opening: &mut Opening, rate: Rate, mono: i64) {
        let opens = Some(self.pace.next_ms(rate));
        opening.narrow(self.pace.free(rate, mono), || Closed {
            kind: LimitKind::Throttle,
            limit: u64::from(rate.limit),
            current: self.count_in_period(rate, mono).0,
            opens,
            every_ms: Some((rate.interval_us() / 1_000).max(1)),
            bucket: self.timed_bucket(LimitKind::Throttle, rate),
            paused: false,
        });
    }

    fn narrow_by_window(&self, opening: &mut Opening, kind: LimitKind, rate: Rate, mono: i64) {
        let window = self.window_for(rate.period_ms);
        let current = window.map_or(0, |window| window.count_within(rate.period_ms, mono));
        let limit = u64::from(rate.limit);
        opening.narrow(limit.saturating_sub(current), || Closed {
            kind,
            limit,
            current,
            // `None` for a limit of zero: only new settings open it.
            opens: window.and_then(|window| window.opens_within(rate.period_ms, rate.limit, 1)),
            every_ms: Some((rate.interval_us() / 1_000).max(1)),
            bucket: self.timed_bucket(kind, rate),
            paused: false,
        });
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
    fn window_for(&self, period_ms: u64) -> Option<&Window> {
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
        self.active == 0 && self.gates.is_empty() && self.settings == LimitSettings::default()
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

impl Opening {
    fn narrow(&mut self, free: u64, reason: impl FnOnce() -> Closed) {
        self.free = self.free.min(free);
        if free == 0 {
            self.close(reason());
        }
    }

    /// Keeps the reason that lasts longest. The end of an active job is unknown, so it outlasts any
    /// time.
    fn close(&mut self, reason: Closed) {
        self.free = 0;
        let later = match &self.closed {
            None => true,
            Some(current) => match (current.opens, reason.opens) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some(current), Some(new)) => new > current,
            },
        };
        if later {
            self.closed = Some(reason);
        }
    }
}
