//! Whether jobs may start at a limit now: how many, or why none.

use rota_model::{LimitNumbers, Rate};

use super::LimitKind;
use super::limit::Limit;
use crate::Now;

/// Sets of numbers above which similar periods share a bucket.
const MOST_TIMED: usize = 64;

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

impl Limit {
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
