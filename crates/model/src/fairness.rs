//! How tenants share capacity.

use serde::{Deserialize, Serialize};

/// What a tenant's share is a share of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FairnessScope {
    /// Each queue by itself: pick the queue, then the tenant within it.
    #[default]
    Queue,
    /// All queues of a pool or fetch: pick the tenant, then one of its queues.
    Pool,
}

impl FairnessScope {
    /// Its name in JSON and in settings.
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
    /// All alike, whatever their weights.
    RoundRobin,
    /// Every tenant has a concurrency limit of its own.
    Strict,
}

/// What a tenant's share is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// Jobs started.
    Job,
    /// Their run time.
    Runtime,
}

/// Whose jobs a priority is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriorityScope {
    /// With those of all tenants.
    Global,
    /// With those of the same tenant only.
    Tenant,
}
