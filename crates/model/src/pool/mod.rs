//! The configuration of a pool: a named group of workers and how its queues are served.

mod parse;
mod tenants;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{FairnessScope, QueueName, Weight};

pub use parse::{check_named, check_weighted, parse_strategy, parse_weights, ratio_too_large};
pub use tenants::PoolTenants;

/// The configuration of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolConfig {
    /// The queues that the pool's workers serve, in order.
    pub queues: Vec<QueueName>,
    /// Maximum number of active jobs over all workers of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// How the queues take turns.
    pub strategy: QueueStrategy,
    /// Weights for [`QueueStrategy::Weighted`]. Queues without an entry have the weight 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<QueueName, Weight>,
    /// Whether only the pool's workers get jobs of its queues.
    #[serde(default)]
    pub isolated: bool,
    /// The guaranteed part of each queue; `None` uses the server's setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starvation: Option<Starvation>,
    /// The scope within which tenants compete; `None` uses the server's setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness_scope: Option<FairnessScope>,
    /// The tenants that may use an operator's pool; `None` uses the default of the isolation model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenants: Option<PoolTenants>,
    /// Whether tenants whose workers wait for a slot get it by weight.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fair: bool,
}

/// How the next queue is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueStrategy {
    /// The first queue that has a job, in the configured order.
    Strict,
    /// One job from each queue in turn.
    RoundRobin,
    /// In proportion to the weights.
    Weighted,
    /// The queue with the most jobs.
    LeastLoaded,
}

impl QueueStrategy {
    /// Every strategy.
    pub const ALL: [QueueStrategy; 4] = [
        QueueStrategy::Strict,
        QueueStrategy::RoundRobin,
        QueueStrategy::Weighted,
        QueueStrategy::LeastLoaded,
    ];

    /// The name in JSON and in settings.
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

/// Starvation prevention: the guaranteed part of each queue, and how long it may go unserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starvation {
    /// Whether starvation prevention is active.
    pub enabled: bool,
    /// Maximum time that a queue with waiting jobs may go unserved, in milliseconds.
    pub rotation_ms: u64,
    /// The guaranteed part of all dispatches for each queue, in millionths; `None` uses
    /// [`Starvation::DEFAULT_RATIO`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ratio: Option<u32>,
}

impl Default for Starvation {
    fn default() -> Self {
        Self { enabled: false, rotation_ms: 30_000, min_ratio: None }
    }
}

impl Starvation {
    /// The default guaranteed part, in millionths.
    pub const DEFAULT_RATIO: u32 = 50_000;

    /// The guaranteed part for each of `queues` queues, in millionths; lowered where the sum would
    /// exceed 1.
    #[must_use]
    pub fn ratio_among(&self, queues: usize) -> u32 {
        let most = 1_000_000 / u32::try_from(queues.max(1)).unwrap_or(u32::MAX);
        self.min_ratio.unwrap_or(Self::DEFAULT_RATIO).min(most)
    }

    /// Whether it is enabled with a ratio that exceeds 1 when multiplied by the number of queues.
    #[must_use]
    pub fn promises_too_much(&self, queues: usize) -> bool {
        self.enabled && self.gives_too_much(queues)
    }

    /// Whether the ratio exceeds 1 when multiplied by the number of queues, even if not enabled.
    #[must_use]
    pub fn gives_too_much(&self, queues: usize) -> bool {
        self.min_ratio.is_some_and(|ratio| u64::from(ratio) * queues as u64 > 1_000_000)
    }
}
