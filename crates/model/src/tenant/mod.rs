//! What an operator says about one tenant.

mod parse;

use serde::{Deserialize, Serialize};

use crate::Rate;

pub(crate) use parse::weight;

/// What is absent follows the server's defaults; a limit that is absent does not limit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TenantConfig {
    /// The most jobs that may be active at once, over all queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<u32>,
    /// The most jobs that may be enqueued in any window of the period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_enqueue_rate: Option<Rate>,
    /// The most jobs that may wait: available, scheduled, retryable and pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_queue_depth: Option<u64>,
    /// The most jobs that may wait for a start time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_scheduled: Option<u64>,
    /// Its share of what is handed out, compared with other tenants; `None` is the server's
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Weight>,
    /// Added to the priority of its jobs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority_boost: i32,
    /// The highest priority that its jobs may have, before the boost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_priority: Option<i16>,
    /// Whether enqueues beyond a limit are refused; `None` means that they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
}

/// A share of capacity, in hundredths: from 0.01 to 1000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Weight(u32);

impl Weight {
    /// The weight 1.
    pub const ONE: Weight = Weight(100);
    const SMALLEST: f64 = 0.01;
    const LARGEST: f64 = 1_000.0;

    /// `None` outside 0.01 to 1000.
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

    /// The weight as people write it.
    #[must_use]
    pub fn value(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// A part of it, and never nothing.
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

/// What happens to a job beyond a limit: refused, or admitted with a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quota {
    /// Refused.
    #[default]
    Hard,
    /// Admitted; the answer and an event say that the limit was exceeded.
    Soft,
}

impl Quota {
    /// The word for it in JSON.
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
