//! How often, and how many at once, jobs may start.

mod parse;

use serde::{Deserialize, Serialize};

use crate::LimitKey;

pub use parse::{parse_numbers, parse_rate, parse_rate_limit};

/// A job's own limit. Jobs of one key share its counters; each is held by its own numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RateLimit {
    /// Jobs with the same key, and the same scope, are counted together.
    pub key: LimitKey,
    /// What this job is held by. An override or a declaration of the key takes their place.
    #[serde(flatten)]
    pub numbers: LimitNumbers,
    /// What happens when the job would start and the limit is reached.
    #[serde(default)]
    pub on_limit: OnLimit,
    /// Whether all tenants share the counters of the key.
    pub scope: Scope,
}

/// What must hold before a job starts. What is absent does not limit.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct LimitNumbers {
    /// The most jobs that may be active at once; 0 lets none start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// The most starts in any window of the period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The same, evenly spaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Rate>,
}

impl LimitNumbers {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// So many in any window of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rate {
    /// How many may start; 0 lets none start.
    pub limit: u32,
    /// The length of the window, in milliseconds.
    pub period_ms: u64,
}

impl Rate {
    /// The distance between two starts that are evenly spaced, in microseconds.
    #[must_use]
    pub fn interval_us(&self) -> u64 {
        (self.period_ms * 1_000).div_ceil(u64::from(self.limit.max(1)))
    }
}

/// What becomes of a job that would start and may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLimit {
    /// Stays available; other jobs pass it.
    #[default]
    Wait,
    /// Is scheduled for the first instant at which the limit will let it start.
    Reschedule,
    /// Is discarded.
    Drop,
}

impl OnLimit {
    /// All of them, in the order of the specification.
    pub const ALL: [OnLimit; 3] = [OnLimit::Wait, OnLimit::Reschedule, OnLimit::Drop];

    /// The word for it in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            OnLimit::Wait => "wait",
            OnLimit::Reschedule => "reschedule",
            OnLimit::Drop => "drop",
        }
    }
}

/// Who shares a key's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// All tenants share one set of counters.
    Global,
    /// Each tenant has counters of its own.
    Tenant,
}

impl Scope {
    /// Both of them.
    pub const ALL: [Scope; 2] = [Scope::Global, Scope::Tenant];

    /// The word for it in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Global => "global",
            Scope::Tenant => "tenant",
        }
    }
}
