//! One key: its counters, and what was said about it from outside.

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

/// What is counted together: a key, for everyone or for one tenant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Partition {
    pub key: LimitKey,
    pub tenant: Option<TenantId>,
}

impl Partition {
    /// Its name on disk. A tenant has no slash in it.
    pub fn name(&self) -> String {
        match &self.tenant {
            Some(tenant) => format!("{tenant}/{}", self.key),
            None => format!("/{}", self.key),
        }
    }

    /// The tenant that it belongs to: its jobs are counted, or the key is of its own queue.
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

pub(crate) struct Limit {
    pub partition: Partition,
    /// Jobs that are active.
    pub active: u64,
    /// Those of them that name the key, and of these the ones that are not of the queue or the type
    /// whose key it is.
    pub named: u64,
    pub named_elsewhere: u64,
    /// The shorter period first.
    pub(super) windows: Vec<Window>,
    pub(super) history: History,
    pub(super) pace: Pace,
    /// What it was before the last start.
    pace_before: Option<Pace>,
    pub settings: LimitSettings,
    /// How often `row` has changed.
    pub version: u32,
    pub gates: BTreeSet<GateIx>,
    /// Who waits for it, by queue.
    pub waitlists: SmallMap<QueueIx, Box<Waitlist>>,
    pub order: KeyOrder,
    pub sleepers: Sleepers,
    /// When to look whether it has opened, by what closes it. Monotonic.
    pub timers: BTreeMap<Bucket, u64>,
    pub booked_jobs: BookedJobs,
    /// How often in a row jobs were put off for want of a slot.
    pub times_rescheduled: u32,
}

/// What is closed for the same reason and therefore opens at the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bucket {
    /// How often something was said about the limit before: the same numbers may close other jobs now.
    pub version: u32,
    pub cause: Cause,
}

/// What keeps a limit closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Cause {
    /// So many jobs are active.
    Slots(u32),
    /// There were so many starts in a period, or the last one is too near.
    Timed { kind: LimitKind, limit: u32, period_ms: u64 },
    /// The same at a key with very many sets of numbers, for all periods, or distances between starts,
    /// up to this and above half of it. They do not open at the same moment: those behind the first wait
    /// for it.
    TimedAlike { kind: LimitKind, up_to: u64 },
    /// Until somebody says otherwise, or a pause ends.
    Paused,
}

/// What was said about a key, as it is kept on disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LimitSettings {
    /// Stored as `hold`, its first name.
    #[serde(default, rename = "hold", skip_serializing_if = "Option::is_none")]
    pub pause: Option<KeyPause>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Override>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<LimitNumbers>,
    /// The declaration comes from the configuration, which says it anew at each start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_file: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// The tenant that it counts for; without one it is the operator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<TenantId>,
}

impl LimitSettings {
    /// What of it is kept on disk, if anything is.
    pub fn written(&self) -> Option<Self> {
        let declared = self.declared.filter(|_| !self.from_file);
        let has_any = self.pause.is_some() || self.replaced.is_some() || declared.is_some();
        has_any.then(|| Self { declared, from_file: false, ..self.clone() })
    }
}

/// The key is stopped for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyPause {
    pub until: Millis,
    pub reason: Arc<str>,
}

/// Other numbers, for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Override {
    pub numbers: LimitNumbers,
    pub expires: Millis,
}

/// How many may start now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opening {
    pub free: u64,
    pub closed: Option<Closed>,
}

/// Why none may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed {
    pub kind: LimitKind,
    pub limit: u64,
    pub current: u64,
    /// Monotonic. `None`: when an active job ends.
    pub opens: Option<i64>,
    /// How far starts are apart when they are evenly spaced.
    pub every_ms: Option<u64>,
    pub bucket: Bucket,
    /// The key is stopped: nothing of it starts, and nothing is dropped or put off for it.
    pub paused: bool,
}

/// Starts of a key are remembered for this long at least after the last one.
const LEAST_KEPT_MS: i64 = 60_000;
/// Periods for which starts are counted exactly. Others are counted by the next longer of these.
const MOST_WINDOWS: usize = 16;
/// Sets of numbers up to which each opens at its own moment.
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

    /// Something was said about it that holds jobs which do not name it themselves.
    pub fn has_settings(&self) -> bool {
        self.settings.pause.is_some()
            || self.settings.replaced.is_some()
            || self.settings.declared.is_some()
    }

    /// The numbers that pause jobs which have these themselves: an override replaces them for a
    /// while, a declaration for good.
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

    /// Whether the key is stopped, by a pause or because none may start.
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
            current: self.look(rate, mono).0,
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
            // A limit of none opens when somebody says so.
            opens: window.and_then(|window| window.opens_within(rate.period_ms, rate.limit, 1)),
            every_ms: Some((rate.interval_us() / 1_000).max(1)),
            bucket: self.timed_bucket(kind, rate),
            paused: false,
        });
    }

    /// Starts are counted for these from now on, whoever has them.
    pub fn watch(&mut self, numbers: LimitNumbers) {
        for rate in [numbers.rate, numbers.throttle].into_iter().flatten() {
            self.window(rate);
        }
    }

    /// A job started.
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

    /// A start at this moment did not happen. The next one may be where it was if none came after it.
    pub fn undo_start(&mut self, at: i64) {
        self.windows.iter_mut().for_each(|window| window.undo(at));
        self.history.undo(at);
        if self.pace.started_us() == at.saturating_mul(1_000)
            && let Some(before) = self.pace_before.take()
        {
            self.pace = before;
        }
    }

    /// Whether starts are remembered.
    pub fn is_timed(&self) -> bool {
        !self.windows.is_empty()
    }

    /// How many windows a start is recorded in.
    pub fn windows(&self) -> usize {
        self.windows.len()
    }

    /// The window that counts for a period: its own, or else that of the next longer one, which has all
    /// of its starts.
    fn window_for(&self, period_ms: u64) -> Option<&Window> {
        self.windows.get(self.first_from(period_ms))
    }

    pub(super) fn first_from(&self, period_ms: u64) -> usize {
        self.windows.partition_point(|window| window.period_ms() < period_ms)
    }

    pub(super) fn window(&mut self, rate: Rate) {
        let at = self.first_from(rate.period_ms);
        if self.windows.get(at).is_none_or(|window| window.period_ms() != rate.period_ms) {
            self.add_window(at, rate);
        }
        let at = self.first_from(rate.period_ms);
        self.windows[at].admit(rate.limit);
    }

    /// A period is counted by a window of its own, unless there are as many as may be: then one goes
    /// without whose next longer period is the nearest.
    fn add_window(&mut self, at: usize, rate: Rate) {
        let mut periods: Vec<u64> = self.windows.iter().map(Window::period_ms).collect();
        periods.insert(at, rate.period_ms);
        let dropped = one_too_many(&periods);
        if dropped == Some(at) {
            return;
        }
        let mut window = Window::new(rate.period_ms, rate.limit);
        match self.windows.get(at) {
            Some(longer) => window.copy(longer.starts()),
            None => window.copy(self.history.starts()),
        }
        self.windows.insert(at, window);
        dropped.map(|dropped| self.windows.remove(dropped));
    }

    /// Starts in the window of this rate, and when there will be room again.
    pub fn look(&self, rate: Rate, mono: i64) -> (u64, Option<i64>) {
        let Some(window) = self.window_for(rate.period_ms) else { return (0, None) };
        let count = window.count_within(rate.period_ms, mono);
        let first = window.starts().map(|(at, _)| at).find(|at| at + rate.period_ms as i64 > mono);
        (count, first.map(|at| at + rate.period_ms as i64))
    }

    /// When the next evenly spaced start may be.
    pub fn next_paced(&self, rate: Rate) -> Option<i64> {
        self.pace.due_us().map(|_| self.pace.next_ms(rate))
    }

    /// No job is left that it holds, and nothing is said about it.
    pub fn is_unused(&self) -> bool {
        self.active == 0 && self.gates.is_empty() && self.settings == LimitSettings::default()
    }

    /// Until when starts are remembered, if they are.
    pub fn kept_until(&self) -> Option<i64> {
        let longest = self.windows.iter().map(Window::period_ms).max()?;
        let kept = i64::try_from(longest).unwrap_or(i64::MAX).max(LEAST_KEPT_MS);
        self.history.last().map(|last| last.saturating_add(kept))
    }

    /// When a job will be let in that has so many others before it, if they start at the instants for
    /// which they are booked, the last of them then. They may have other numbers: at the latest when
    /// their starts do not count any more.
    pub fn lets_in(
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

    /// When a window has room for one more after so many others.
    fn room_after(&self, rate: Rate, ahead: u64, mono: i64) -> i64 {
        let limit = u64::from(rate.limit.max(1));
        let opens = self
            .window_for(rate.period_ms)
            .and_then(|window| window.opens_within(rate.period_ms, rate.limit, ahead % limit + 1));
        let periods = i64::try_from((ahead / limit).saturating_mul(rate.period_ms));
        opens.unwrap_or(mono).max(mono).saturating_add(periods.unwrap_or(i64::MAX))
    }
}

/// Of these periods, the shorter first, the one that can do without a window: the next longer one is the
/// nearest.
fn one_too_many(periods: &[u64]) -> Option<usize> {
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

    /// Of several reasons the one that lasts longest counts; a slot that somebody holds has no end that is known.
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
