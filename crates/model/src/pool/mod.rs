//! A named group of workers, and how its queues are served.

mod parse;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{QueueName, Weight};

pub use parse::{parse_strategy, parse_weights};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolConfig {
    pub queues: Vec<QueueName>,
    /// The most jobs that may be active at once over all of its workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    pub strategy: QueueStrategy,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<QueueName, Weight>,
    /// Nobody outside the pool is given jobs of its queues.
    #[serde(default)]
    pub isolated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starvation: Option<Starvation>,
}

/// Which of several queues is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueStrategy {
    /// The first that has a job, in the order given.
    Strict,
    RoundRobin,
    Weighted,
    /// The one with the most jobs.
    LeastLoaded,
}

impl QueueStrategy {
    pub const ALL: [QueueStrategy; 4] = [
        QueueStrategy::Strict,
        QueueStrategy::RoundRobin,
        QueueStrategy::Weighted,
        QueueStrategy::LeastLoaded,
    ];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            QueueStrategy::Strict => "strict",
            QueueStrategy::RoundRobin => "round-robin",
            QueueStrategy::Weighted => "weighted",
            QueueStrategy::LeastLoaded => "least-loaded",
        }
    }
}

/// How long a queue with waiting jobs may go without, and what it gets at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starvation {
    pub enabled: bool,
    pub rotation_ms: u64,
    /// Of all dispatches, in millionths.
    pub min_ratio: u32,
}

impl Default for Starvation {
    fn default() -> Self {
        Self { enabled: false, rotation_ms: 30_000, min_ratio: 50_000 }
    }
}
