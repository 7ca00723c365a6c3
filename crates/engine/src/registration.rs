//! What a worker says about itself, in its registration and in heartbeats.

use std::collections::BTreeMap;

use rota_model::{PoolName, QueueName, QueueStrategy, TenantId, Weight, WorkerId};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    pub worker: WorkerId,
    /// The tenant of the worker. It is fixed when the worker is first seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preference: Option<Preference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// JSON for clients; the engine does not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Value>,
}

impl Registration {
    /// Its size as JSON, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        serde_json::to_vec(self).expect("plain data").len()
    }

    /// A registration with nothing but the worker's id.
    #[must_use]
    pub fn named(worker: WorkerId) -> Self {
        Self {
            worker,
            tenant: None,
            hostname: None,
            pid: None,
            queues: Vec::new(),
            concurrency: None,
            labels: Vec::new(),
            pool: None,
            preference: None,
            version: None,
            started_at: None,
            metadata: None,
        }
    }
}

/// The queue strategy and weights that a worker asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preference {
    pub strategy: QueueStrategy,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<QueueName, Weight>,
}
