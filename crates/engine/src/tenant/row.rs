//! The stored rows of a tenant: its configuration, and its counters.

use std::borrow::Cow;

use rota_model::{Millis, QueueName, TenantConfig, Weight};
use serde::{Deserialize, Serialize};

use super::Counters;
use crate::scheduler::Tag;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TenantRow {
    pub created: Millis,
    /// The configuration set through the API, which overrides the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<Box<ApiConfig>>,
    /// The last changes, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Queues in which its jobs are paused, and since when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paused: Vec<(QueueName, Millis)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Box<Throttle>>,
    /// An operator ended its throttle: it is not throttled again before this.
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

/// An entry in a tenant's log of changes.
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

/// An automatic throttle of a noisy tenant: a lower weight for a while, and with
/// `FairStrategy::Strict` a lower concurrency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttle {
    pub reason: String,
    pub original: Weight,
    pub effective: Weight,
    /// The tenant's concurrency, and the lowered one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<(u32, u32)>,
    pub since: Millis,
    pub until: Millis,
}

/// A tenant's counters, tags and enqueue window, as of batch `as_of`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TenantState<'a> {
    pub as_of: u64,
    pub counters: Cow<'a, Counters>,
    /// Its tags, by queue and level.
    pub turns: Vec<(QueueName, i32, Tag)>,
    /// Its tags in shared accounts, by the rotation's name and level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_turns: Vec<(String, i32, Tag)>,
    /// Enqueues in the window of its enqueue rate: wall-clock times in ms, and jobs at each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub enqueued: Vec<(i64, u32)>,
}
