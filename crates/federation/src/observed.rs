//! What is known about a region from its answers.

use std::collections::HashMap;
use std::time::Duration;

use crate::breaker::{Admission, Breaker, BreakerSettings, Circuit};
use crate::{Latency, Moment};

/// How many tenants' limits are remembered for a region. Beyond it the oldest are forgotten: their jobs are then
/// offered to the region again, which answers as before.
const MOST_LIMITED_TENANTS: usize = 10_000;

/// A health check and its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// When the answer came, or was given up.
    pub at: Moment,
    /// Whether the region was well: status 200 and `"status": "ok"`.
    pub ok: bool,
}

/// How much work a region has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Jobs that wait to be run.
    pub waiting: u64,
    /// Jobs that run.
    pub active: u64,
}

/// What is known about a region from its answers.
#[derive(Debug, Clone)]
pub struct Observed {
    breaker: Breaker,
    check: Option<Check>,
    latency: Latency,
    load: Option<(Load, Moment)>,
    /// Jobs sent there since its load was collected.
    sent: u64,
    /// Jobs that it has taken.
    taken: u64,
    /// Jobs that had to run there and could not.
    pins_refused: u64,
    full_until: Moment,
    limited_until: HashMap<Box<str>, Moment>,
}

/// How good a region is for new jobs, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// It takes jobs.
    Good,
    /// It answered not long ago that it has no room.
    Full,
    /// Its breaker lets one probe through.
    HalfOpen,
    /// Its last health check failed.
    Unwell,
    /// Its breaker is open.
    Open,
}

impl Standing {
    /// Whether a job may be sent there.
    pub fn is_usable(self) -> bool {
        self <= Self::HalfOpen
    }
}

impl Observed {
    pub(crate) fn new(breaker: BreakerSettings) -> Self {
        Self {
            breaker: Breaker::new(breaker),
            check: None,
            latency: Latency::default(),
            load: None,
            sent: 0,
            taken: 0,
            pins_refused: 0,
            full_until: Moment::ZERO,
            limited_until: HashMap::new(),
        }
    }

    /// The state of its circuit breaker.
    #[must_use]
    pub fn circuit(&self, now: Moment) -> Circuit {
        self.breaker.circuit(now)
    }

    /// Its circuit breaker.
    #[must_use]
    pub fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// The last health check.
    #[must_use]
    pub fn check(&self) -> Option<Check> {
        self.check
    }

    /// The average round trip of its health checks.
    #[must_use]
    pub fn latency(&self) -> Latency {
        self.latency
    }

    /// Its load and when that was collected.
    #[must_use]
    pub fn load(&self) -> Option<(Load, Moment)> {
        self.load
    }

    /// Whether it has answered lately that it has no room, to anybody.
    #[must_use]
    pub fn is_full(&self, now: Moment) -> bool {
        now < self.full_until
    }

    /// Whether new jobs are sent there: its last check, if there was one, was good, and its breaker is closed.
    #[must_use]
    pub fn is_healthy(&self, now: Moment) -> bool {
        self.circuit(now) == Circuit::Closed && self.check.is_none_or(|check| check.ok)
    }

    pub(crate) fn standing(&self, tenant: Option<&str>, now: Moment) -> Standing {
        match self.breaker.circuit(now) {
            Circuit::Open => return Standing::Open,
            _ if self.check.is_some_and(|check| !check.ok) => return Standing::Unwell,
            Circuit::HalfOpen if self.breaker.admits(now) => return Standing::HalfOpen,
            Circuit::HalfOpen => return Standing::Open,
            Circuit::Closed => {}
        }
        let limited = || {
            let until = self.limited_until.get(tenant.unwrap_or_default());
            until.is_some_and(|until| now < *until)
        };
        match self.is_full(now) || !self.limited_until.is_empty() && limited() {
            true => Standing::Full,
            false => Standing::Good,
        }
    }

    /// The work there, with what was sent since it was last asked; `None` if it was never asked.
    pub(crate) fn work(&self, weight: u32) -> Option<f64> {
        let (load, _) = self.load?;
        Some((load.waiting + load.active) as f64 + self.sent as f64 / f64::from(weight))
    }

    pub(crate) fn set_breaker(&mut self, settings: BreakerSettings) {
        self.breaker.set(settings);
    }

    pub(crate) fn admit(&mut self, now: Moment) -> Option<Admission> {
        self.breaker.admit(now)
    }

    pub(crate) fn succeeded(&mut self, admission: Admission) {
        self.breaker.succeeded(admission);
    }

    pub(crate) fn failed(&mut self, admission: Admission, now: Moment) {
        self.breaker.failed(admission, now);
    }

    pub(crate) fn abandoned(&mut self, admission: Admission) {
        self.breaker.abandoned(admission);
    }

    pub(crate) fn checked(&mut self, round_trip: Option<Duration>, at: Moment) {
        self.check = Some(Check { at, ok: round_trip.is_some() });
        if let Some(round_trip) = round_trip {
            self.latency.measured(round_trip);
        }
    }

    pub(crate) fn loaded(&mut self, load: Load, at: Moment) {
        self.load = Some((load, at));
        self.sent = 0;
    }

    /// Jobs that it has taken.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Jobs that had to run there and could not.
    #[must_use]
    pub fn pins_refused(&self) -> u64 {
        self.pins_refused
    }

    pub(crate) fn took(&mut self, jobs: u64) {
        self.taken += jobs;
    }

    pub(crate) fn refused_pin(&mut self) {
        self.pins_refused += 1;
    }

    pub(crate) fn sent(&mut self) {
        self.sent += 1;
    }

    /// The region has no room: for one tenant, or for anybody.
    pub(crate) fn is_out_of_room(&mut self, tenant: Option<&str>, until: Moment, now: Moment) {
        let Some(tenant) = tenant else {
            self.full_until = self.full_until.max(until);
            return;
        };
        if self.limited_until.len() >= MOST_LIMITED_TENANTS {
            self.limited_until.retain(|_, until| now < *until);
        }
        if self.limited_until.len() >= MOST_LIMITED_TENANTS {
            self.limited_until.clear();
        }
        self.limited_until.insert(tenant.into(), until);
    }
}
