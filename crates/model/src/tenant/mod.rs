//! The configuration of a tenant.

mod parse;

use serde::{Deserialize, Serialize};

use crate::{Rate, RequestLimits};

pub(crate) use parse::weight;

/// The configuration of a tenant. Absent fields use the server's defaults; absent limits do not apply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TenantConfig {
    /// Maximum number of active jobs over all queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<u32>,
    /// Maximum number of jobs enqueued in any window of the period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_enqueue_rate: Option<Rate>,
    /// Maximum number of waiting jobs: available, scheduled, retryable and pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_queue_depth: Option<u64>,
    /// Maximum number of scheduled jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_scheduled: Option<u64>,
    /// Maximum number of stored bytes: bodies, results and errors of jobs, and schedules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Share of capacity relative to other tenants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Weight>,
    /// Added to the priority of the tenant's jobs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority_boost: i32,
    /// Maximum priority of the tenant's jobs, before the boost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_priority: Option<i16>,
    /// Whether enqueues beyond a limit are rejected, which is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
    /// Limits on requests of the tenant's callers, instead of the server's.
    #[serde(default, skip_serializing_if = "RequestLimits::is_empty")]
    pub request_limits: RequestLimits,
}

/// A share of capacity from 0.01 to 1000, stored in hundredths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Weight(u32);

impl Weight {
    /// The weight 1.
    pub const ONE: Weight = Weight(100);
    const SMALLEST: f64 = 0.01;
    const LARGEST: f64 = 1_000.0;

    /// Returns `None` for values outside 0.01 to 1000.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        let fits = (Self::SMALLEST..=Self::LARGEST).contains(&value);
        fits.then(|| Self((value * 100.0).round() as u32))
    }

    /// The weight times 100.
    #[must_use]
    pub fn hundredths(self) -> u32 {
        self.0
    }

    /// The weight as a number.
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// The weight multiplied by a factor, but at least 0.01.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self(((f64::from(self.0) * factor).round() as u32).max(1))
    }
}

impl Default for Weight {
    fn default() -> Self {
        Self::ONE
    }
}

/// What happens to a job beyond a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quota {
    /// It is rejected.
    #[default]
    Hard,
    /// It is accepted, with a warning in the response and an event.
    Soft,
}

impl Quota {
    /// The name in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Quota::Hard => "hard",
            Quota::Soft => "soft",
        }
    }
}

fn is_zero(n: &i32) -> bool {
    *n == 0
}
