//! What is kept of a tenant on disk.

use std::borrow::Cow;

use rota_model::{Millis, QueueName, TenantConfig, Weight};
use serde::{Deserialize, Serialize};

use super::Counters;
use crate::scheduler::Tag;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TenantRow {
    pub created: Millis,
    /// What was said through the API; it wins over the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<Box<ApiConfig>>,
    /// The last changes, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Queues of which its jobs are not handed out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paused: Vec<(QueueName, Millis)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Box<Throttle>>,
    /// An operator has let it go: it is not throttled again before this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spared_until: Option<Millis>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ApiConfig {
    pub config: TenantConfig,
    pub updated: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An operator's hand on a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub at: Millis,
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TenantConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<TenantConfig>,
}

/// A tenant's weight, and where each tenant has a concurrency of its own that too, is lowered for a
/// while, because it takes too much.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttle {
    pub reason: String,
    pub original: Weight,
    pub effective: Weight,
    /// The tenant's concurrency, and what is left of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<(u32, u32)>,
    pub since: Millis,
    pub until: Millis,
}

/// Counters as they were after a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TenantState<'a> {
    pub as_of: u64,
    pub counters: Cow<'a, Counters>,
    /// Its tags, by queue and level.
    pub turns: Vec<(QueueName, i32, Tag)>,
    /// Its tags over all queues of a rotation, by the rotation's name and level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_turns: Vec<(String, i32, Tag)>,
    /// Enqueued jobs that a limit still remembers, in wall-clock time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub enqueued: Vec<(i64, u32)>,
}
