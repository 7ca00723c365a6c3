//! A named group of workers, and how its queues are served.

mod parse;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{FairnessScope, QueueName, Weight};

pub use parse::{check_named, check_weighted, parse_strategy, parse_weights, ratio_too_large};

/// What an operator said about a pool of workers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolConfig {
    /// The queues that its workers serve, in the order given.
    pub queues: Vec<QueueName>,
    /// The most jobs that may be active at once over all of its workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// How the queues take turns.
    pub strategy: QueueStrategy,
    /// For [`QueueStrategy::Weighted`]; a queue that is not in it has the weight 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<QueueName, Weight>,
    /// Nobody outside the pool is given jobs of its queues.
    #[serde(default)]
    pub isolated: bool,
    /// The least that each queue gets; `None` follows the server's setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starvation: Option<Starvation>,
    /// What its workers share out among tenants; the server's setting where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness_scope: Option<FairnessScope>,
}

/// Which of several queues is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueStrategy {
    /// The first that has a job, in the order given.
    Strict,
    /// One job of each queue in turn.
    RoundRobin,
    /// In turn, in proportion to the weights.
    Weighted,
    /// The one with the most jobs.
    LeastLoaded,
}

impl QueueStrategy {
    /// All of them.
    pub const ALL: [QueueStrategy; 4] = [
        QueueStrategy::Strict,
        QueueStrategy::RoundRobin,
        QueueStrategy::Weighted,
        QueueStrategy::LeastLoaded,
    ];

    /// The word for it in JSON and in settings.
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
    /// Whether it is in force.
    pub enabled: bool,
    /// How long a queue with waiting jobs may go unserved, in milliseconds.
    pub rotation_ms: u64,
    /// The part of all dispatches that each queue is guaranteed, in millionths, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ratio: Option<u32>,
}

impl Default for Starvation {
    fn default() -> Self {
        Self { enabled: false, rotation_ms: 30_000, min_ratio: None }
    }
}

impl Starvation {
    /// What is guaranteed to each queue when nobody says otherwise, in millionths.
    pub const DEFAULT_RATIO: u32 = 50_000;

    /// The part of all dispatches that each of so many queues is guaranteed, in millionths. All of
    /// them together cannot have more than there is.
    #[must_use]
    pub fn ratio_among(&self, queues: usize) -> u32 {
        let most = 1_000_000 / u32::try_from(queues.max(1)).unwrap_or(u32::MAX);
        self.min_ratio.unwrap_or(Self::DEFAULT_RATIO).min(most)
    }

    /// Whether a ratio was given that so many queues cannot all have.
    #[must_use]
    pub fn promises_too_much(&self, queues: usize) -> bool {
        self.enabled && self.gives_too_much(queues)
    }

    /// The same, whether or not it is in force.
    #[must_use]
    pub fn gives_too_much(&self, queues: usize) -> bool {
        self.min_ratio.is_some_and(|ratio| u64::from(ratio) * queues as u64 > 1_000_000)
    }
}
