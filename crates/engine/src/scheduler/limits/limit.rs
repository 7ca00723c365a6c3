//! One key: its counters, and what was said about it from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rota_model::{LimitKey, LimitNumbers, Millis, Rate, TenantId};
use serde::{Deserialize, Serialize};

use super::order::KeyOrder;
use super::pace::Pace;
use super::table::GateIx;
use super::{Sleepers, Strategy, Waitlist, Window};
use crate::Now;
use crate::queue::QueueIx;
use crate::scheduler::few::Few;

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
    /// The shorter period first.
    windows: Vec<Window>,
    pace: Pace,
    pub row: LimitRow,
    /// How often `row` has changed.
    pub said: u32,
    pub gates: BTreeSet<GateIx>,
    /// Who waits for it, by queue.
    pub waitlists: Few<QueueIx, Box<Waitlist>>,
    pub order: KeyOrder,
    pub sleepers: Sleepers,
    /// When to look whether it has opened, by what closes it. Monotonic.
    pub timers: BTreeMap<Bucket, u64>,
    /// The last moment that a job was put off to.
    pub booked: i64,
    /// How often in a row jobs were put off for want of a slot.
    pub put_off: u32,
}

/// What is closed for the same reason and therefore opens at the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bucket {
    /// How often something was said about the limit before: the same numbers may close other jobs now.
    pub said: u32,
    pub cause: Cause,
}

/// What keeps a limit closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Cause {
    /// So many jobs are active.
    Slots(u32),
    /// There were so many starts in a period, or the last one is too near.
    Timed { strategy: Strategy, limit: u32, period_ms: u64 },
    /// The same at a key with very many sets of numbers, for all periods, or distances between starts,
    /// up to this and above half of it. They do not open at the same moment: those behind the first wait
    /// for it.
    TimedAlike { strategy: Strategy, up_to: u64 },
    /// Until somebody says otherwise, or a pause ends.
    Held,
}

/// What was said about a key, as it is kept on disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LimitRow {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Override>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<LimitNumbers>,
    /// The declaration comes from the configuration, which says it anew at each start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_file: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
}

/// The key is stopped for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hold {
    pub until: Millis,
    pub reason: Arc<str>,
}

/// Other numbers, for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Override {
    pub numbers: LimitNumbers,
    pub expires: Millis,
}

/// Counters as they are kept on disk, in wall-clock time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LimitState {
    /// The batch after which these were the counters.
    pub as_of: u64,
    pub windows: Vec<WindowState>,
    /// Microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_us: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_us: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WindowState {
    period_ms: u64,
    /// Every start is in it by itself.
    exact: bool,
    /// Times and how many.
    starts: Vec<(i64, u32)>,
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
    pub strategy: Strategy,
    pub limit: u64,
    pub current: u64,
    /// Monotonic. `None`: when an active job ends.
    pub opens: Option<i64>,
    /// The distance at which jobs that are put off are spaced.
    pub every_ms: Option<u64>,
    pub bucket: Bucket,
}

/// Periods for which starts are counted exactly. Others are counted by the next longer of these.
const MOST_WINDOWS: usize = 16;
/// Sets of numbers up to which each opens at its own moment.
const MOST_TIMED: usize = 64;

impl Limit {
    pub fn new(partition: Partition) -> Self {
        Self {
            partition,
            active: 0,
            windows: Vec::new(),
            pace: Pace::none(),
            row: LimitRow::default(),
            said: 0,
            gates: BTreeSet::new(),
            waitlists: Few::default(),
            order: KeyOrder::default(),
            sleepers: Sleepers::default(),
            timers: BTreeMap::new(),
            booked: i64::MIN,
            put_off: 0,
        }
    }

    /// Something was said about it that holds jobs which do not name it themselves.
    pub fn is_spoken_of(&self) -> bool {
        self.row.hold.is_some() || self.row.replaced.is_some() || self.row.declared.is_some()
    }

    /// The numbers that hold jobs which have these themselves: an override replaces them for a
    /// while, a declaration for good.
    pub fn numbers(&self, own: LimitNumbers, now: Millis) -> LimitNumbers {
        match &self.row.replaced {
            Some(replaced) if replaced.expires > now => replaced.numbers,
            _ => self.row.declared.unwrap_or(own),
        }
    }

    fn bucket(&self, cause: Cause) -> Bucket {
        Bucket { said: self.said, cause }
    }

    fn timed_bucket(&self, strategy: Strategy, rate: Rate) -> Bucket {
        let Rate { limit, period_ms } = rate;
        let of_throttle = strategy == Strategy::Throttle;
        self.bucket(match () {
            () if limit == 0 => Cause::Held,
            () if self.gates.len() <= MOST_TIMED => Cause::Timed { strategy, limit, period_ms },
            () => {
                let distance = if of_throttle { rate.interval_us() } else { period_ms };
                Cause::TimedAlike { strategy, up_to: distance.next_power_of_two() }
            }
        })
    }

    pub fn opening(&self, own: LimitNumbers, now: Now) -> Opening {
        let mono = now.mono as i64;
        let mut opening = Opening { free: u64::MAX, closed: None };
        self.narrow_by_hold(&mut opening, now);
        let numbers = self.numbers(own, now.wall);
        self.narrow_by_slots(&mut opening, numbers);
        if let Some(rate) = numbers.rate {
            self.narrow_by_window(&mut opening, Strategy::Rate, rate, mono);
        }
        if let Some(rate) = numbers.throttle {
            self.narrow_by_pace(&mut opening, rate, mono);
            self.narrow_by_window(&mut opening, Strategy::Throttle, rate, mono);
        }
        opening
    }

    fn narrow_by_hold(&self, opening: &mut Opening, now: Now) {
        if let Some(hold) = self.row.hold.as_ref().filter(|hold| hold.until > now.wall) {
            let opens = Some((now.mono as i64).saturating_add(hold.until.since(now.wall)));
            let strategy = Strategy::Pause;
            let bucket = self.bucket(Cause::Held);
            opening.close(Closed { strategy, limit: 0, current: 0, opens, every_ms: None, bucket });
        }
    }

    fn narrow_by_slots(&self, opening: &mut Opening, numbers: LimitNumbers) {
        let Some(most) = numbers.concurrency else { return };
        let (limit, current) = (u64::from(most), self.active);
        opening.narrow(limit.saturating_sub(current), || Closed {
            strategy: Strategy::Concurrency,
            limit,
            current,
            opens: None,
            every_ms: None,
            bucket: self.bucket(Cause::Slots(most)),
        });
    }

    fn narrow_by_pace(&self, opening: &mut Opening, rate: Rate, mono: i64) {
        let opens = Some(self.pace.next_ms(rate));
        opening.narrow(self.pace.free(rate, mono), || Closed {
            strategy: Strategy::Throttle,
            limit: u64::from(rate.limit),
            current: u64::from(rate.limit),
            opens,
            every_ms: Some((rate.interval_us() / 1_000).max(1)),
            bucket: self.timed_bucket(Strategy::Throttle, rate),
        });
    }

    fn narrow_by_window(&self, opening: &mut Opening, strategy: Strategy, rate: Rate, mono: i64) {
        let window = self.window_for(rate.period_ms);
        let current = window.map_or(0, |window| window.count_within(rate.period_ms, mono));
        let limit = u64::from(rate.limit);
        opening.narrow(limit.saturating_sub(current), || Closed {
            strategy,
            limit,
            current,
            // A limit of none opens when somebody says so.
            opens: window.and_then(|window| window.opens_within(rate.period_ms, rate.limit, 1)),
            every_ms: Some((rate.interval_us() / 1_000).max(1)),
            bucket: self.timed_bucket(strategy, rate),
        });
    }

    /// Starts are counted for these from now on, whoever has them.
    pub fn watch(&mut self, numbers: LimitNumbers) {
        for rate in [numbers.rate, numbers.throttle].into_iter().flatten() {
            self.window(rate);
        }
    }

    /// A job started.
    pub fn start(&mut self, own: LimitNumbers, now: Now) {
        self.active += 1;
        let mono = now.mono as i64;
        let numbers = self.numbers(own, now.wall);
        self.watch(numbers);
        self.windows.iter_mut().for_each(|window| window.record(mono, 1));
        match numbers.throttle {
            Some(rate) => self.pace.record(&[rate], mono),
            None => self.pace.note(mono),
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

    fn first_from(&self, period_ms: u64) -> usize {
        self.windows.partition_point(|window| window.period_ms() < period_ms)
    }

    fn window(&mut self, rate: Rate) {
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
        if let Some(longer) = self.window_for(rate.period_ms).or(self.windows.last()) {
            window.copy_from(longer);
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
        self.pace.last_us().map(|_| self.pace.next_ms(rate))
    }

    /// Nothing is left that a new one would not have.
    pub fn is_blank(&self, now: Now) -> bool {
        let mono = now.mono as i64;
        self.active == 0
            && self.gates.is_empty()
            && self.row == LimitRow::default()
            && self.windows.iter().all(|window| window.is_empty(mono))
    }

    pub fn state(&self, as_of: u64, now: Now) -> Option<LimitState> {
        let (mono, offset) = (now.mono as i64, now.wall.0 - now.mono as i64);
        if self.windows.iter().all(|window| window.is_empty(mono)) {
            return None;
        }
        let windows = self.windows.iter().map(|window| {
            let starts = window.starts().map(|(at, n)| (at + offset, n)).collect();
            WindowState { period_ms: window.period_ms(), exact: window.is_exact(), starts }
        });
        let in_wall = |us: i64| us.saturating_add(offset.saturating_mul(1_000));
        let last_us = self.pace.last_us().map(in_wall);
        let started_us = last_us.map(|_| in_wall(self.pace.started_us()));
        Some(LimitState { as_of, windows: windows.collect(), last_us, started_us })
    }

    pub fn restore(&mut self, state: &LimitState, now: Now) {
        let offset = now.wall.0 - now.mono as i64;
        for kept in &state.windows {
            let mut window = Window::new(kept.period_ms, if kept.exact { 1 } else { u32::MAX });
            kept.starts.iter().for_each(|&(at, n)| window.record(at - offset, n));
            self.windows.retain(|other| other.period_ms() != kept.period_ms);
            self.windows.insert(self.first_from(kept.period_ms), window);
        }
        let periods =
            |windows: &[Window]| windows.iter().map(Window::period_ms).collect::<Vec<_>>();
        while let Some(dropped) = one_too_many(&periods(&self.windows)) {
            self.windows.remove(dropped);
        }
        let in_mono = |us: i64| us.saturating_sub(offset.saturating_mul(1_000));
        let started = state.started_us.or(state.last_us).map_or(i64::MIN / 2, in_mono);
        self.pace = state.last_us.map_or(Pace::none(), |us| Pace::at(in_mono(us), started));
    }

    /// Starts that were written down one by one, in monotonic time.
    pub fn replay(&mut self, at: i64, n: u32, rates: &[Rate], throttle: Option<Rate>) {
        for rate in rates {
            self.window(*rate);
        }
        self.windows.iter_mut().for_each(|window| window.record(at, n));
        for _ in 0..n {
            match throttle {
                Some(rate) => self.pace.record(&[rate], at),
                None => self.pace.note(at),
            }
        }
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
    fn narrow(&mut self, free: u64, why: impl FnOnce() -> Closed) {
        self.free = self.free.min(free);
        if free == 0 {
            self.close(why());
        }
    }

    /// Of several reasons the one that lasts longest counts; a slot that somebody holds has no end that is known.
    fn close(&mut self, why: Closed) {
        self.free = 0;
        let later = match &self.closed {
            None => true,
            Some(known) => match (known.opens, why.opens) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some(known), Some(new)) => new > known,
            },
        };
        if later {
            self.closed = Some(why);
        }
    }
}
