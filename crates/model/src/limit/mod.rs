//! Limits on how many jobs may start: concurrency, rate and throttle.

mod parse;

use serde::{Deserialize, Serialize};

use crate::LimitKey;

pub use parse::{parse_declaration, parse_feedback, parse_numbers, parse_rate, parse_rate_limit};

/// The limit in a job's envelope. All jobs with one key share its counters, but each has its own
/// numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RateLimit {
    /// Jobs with the same key and scope are counted together.
    pub key: LimitKey,
    /// The numbers that apply to this job, unless an override or a declaration of the key replaces
    /// them.
    #[serde(flatten)]
    pub numbers: LimitNumbers,
    /// What happens if the job cannot start because the limit is reached.
    #[serde(default)]
    pub on_limit: OnLimit,
    /// Whether all tenants share the key's counters.
    pub scope: Scope,
}

/// The numbers of a limit. An absent number does not limit.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct LimitNumbers {
    /// Maximum number of active jobs; with 0, none can start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// Maximum number of starts in any window of the period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Like `rate`, but starts are evenly spaced.
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

/// What an operator declares for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeclaredLimit {
    /// The numbers, which replace those that jobs carry.
    #[serde(flatten)]
    pub numbers: LimitNumbers,
    /// For whom a tenant's worker may pause the key.
    #[serde(default)]
    pub feedback: Feedback,
}

/// For whom a shared key is paused when a worker with a tenant's credentials reports an external limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feedback {
    /// For the jobs of that tenant.
    #[default]
    Tenant,
    /// For the jobs of all tenants.
    Shared,
}

impl Feedback {
    /// Every variant.
    pub const ALL: [Feedback; 2] = [Feedback::Tenant, Feedback::Shared];

    /// The name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Feedback::Tenant => "tenant",
            Feedback::Shared => "shared",
        }
    }

    /// Whether this is the default.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A maximum number of starts or enqueues in any window of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rate {
    /// The maximum; 0 allows none.
    pub limit: u32,
    /// Length of the window, in milliseconds.
    pub period_ms: u64,
}

impl Rate {
    /// The interval between evenly spaced starts, in microseconds.
    #[must_use]
    pub fn interval_us(&self) -> u64 {
        (self.period_ms * 1_000).div_ceil(u64::from(self.limit.max(1)))
    }
}

/// What happens to a job that cannot start because its limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLimit {
    /// It stays available, and other jobs overtake it.
    #[default]
    Wait,
    /// It is scheduled for the first time at which the limit lets it start.
    Reschedule,
    /// It is discarded.
    Drop,
}

impl OnLimit {
    /// Every variant, in the order of the specification.
    pub const ALL: [OnLimit; 3] = [OnLimit::Wait, OnLimit::Reschedule, OnLimit::Drop];

    /// The name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            OnLimit::Wait => "wait",
            OnLimit::Reschedule => "reschedule",
            OnLimit::Drop => "drop",
        }
    }
}

/// Which tenants share a key's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// All tenants share one set of counters.
    Global,
    /// Each tenant has counters of its own.
    Tenant,
}

impl Scope {
    /// Both scopes.
    pub const ALL: [Scope; 2] = [Scope::Global, Scope::Tenant];

    /// The name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Global => "global",
            Scope::Tenant => "tenant",
        }
    }
}
