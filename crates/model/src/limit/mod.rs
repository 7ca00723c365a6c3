//! How often, and how many at once, jobs may start.

mod parse;

use serde::{Deserialize, Serialize};

use crate::LimitKey;

pub use parse::{parse_numbers, parse_rate, parse_rate_limit};

/// A job's own limit. Jobs of one key share its counters; each is held by its own numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RateLimit {
    pub key: LimitKey,
    #[serde(flatten)]
    pub numbers: LimitNumbers,
    #[serde(default)]
    pub on_limit: OnLimit,
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
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rate {
    pub limit: u32,
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
    #[default]
    Wait,
    Reschedule,
    Drop,
}

impl OnLimit {
    pub const ALL: [OnLimit; 3] = [OnLimit::Wait, OnLimit::Reschedule, OnLimit::Drop];

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
    Global,
    Tenant,
}

impl Scope {
    pub const ALL: [Scope; 2] = [Scope::Global, Scope::Tenant];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Global => "global",
            Scope::Tenant => "tenant",
        }
    }
}
