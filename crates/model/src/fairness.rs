//! Options for how tenants share capacity.

use serde::{Deserialize, Serialize};

/// The scope within which tenants compete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FairnessScope {
    /// Each queue separately: pick the queue, then a tenant in it.
    #[default]
    Queue,
    /// All queues of a pool or fetch together: pick the tenant, then one of its queues.
    Pool,
}

impl FairnessScope {
    /// The name in JSON and in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            FairnessScope::Queue => "queue",
            FairnessScope::Pool => "pool",
        }
    }
}

/// How the next tenant is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FairStrategy {
    /// In proportion to their weights.
    Weighted,
    /// Equally, regardless of weights.
    RoundRobin,
    /// By a concurrency limit for each tenant.
    Strict,
}

/// What a tenant's share is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// Jobs started.
    Job,
    /// Run time of jobs.
    Runtime,
}

/// The jobs that a priority is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorityScope {
    /// The jobs of all tenants.
    Global,
    /// The jobs of the same tenant.
    Tenant,
}
