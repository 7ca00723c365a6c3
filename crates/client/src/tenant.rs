//! What is known of a tenant, and what can be said about it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::{Rate, Setting};

/// A tenant in a list.
#[derive(Debug, Clone, Deserialize)]
pub struct TenantSummary {
    pub tenant_id: String,
    /// `default`, `file` or `api`: who has configured it.
    pub origin: Option<String>,
    #[serde(default)]
    pub jobs: TenantJobs,
    /// Jobs that wait, in any way.
    #[serde(default)]
    pub depth: u64,
    #[serde(default)]
    pub fairness: TenantShare,
    #[serde(default)]
    pub throttled: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TenantJobs {
    pub available: u64,
    pub active: u64,
    pub scheduled: u64,
    pub retryable: u64,
    pub pending: u64,
    pub completed_24h: u64,
    pub failed_24h: u64,
}

/// What a tenant is entitled to, and what it gets; shares are from 0 to 1.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct TenantShare {
    pub weight: Option<f64>,
    pub effective_weight: Option<f64>,
    pub effective_share: Option<f64>,
    pub actual_share: Option<f64>,
}

/// A tenant, as it is configured.
#[derive(Debug, Clone, Deserialize)]
pub struct Tenant {
    pub tenant_id: String,
    pub origin: Option<String>,
    #[serde(default)]
    pub limits: TenantLimits,
    pub fairness_weight: Option<f64>,
    pub priority_boost: Option<i64>,
    pub max_priority: Option<i64>,
    /// `hard` or `soft`.
    pub quota: Option<String>,
    pub configured: Option<bool>,
    pub throttle: Option<Throttle>,
    pub noisy: Option<Noisy>,
    pub stats: Option<TenantStats>,
    /// What the file says, where the API has overridden it.
    pub file: Option<Value>,
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct TenantLimits {
    pub max_concurrency: Option<u64>,
    pub max_enqueue_rate: Option<Rate>,
    pub max_queue_depth: Option<u64>,
    pub max_scheduled: Option<u64>,
}

/// A tenant gets less for a while, because it took too much.
#[derive(Debug, Clone, Deserialize)]
pub struct Throttle {
    pub reason: Option<String>,
    pub action: Option<String>,
    pub original_weight: Option<f64>,
    pub effective_weight: Option<f64>,
    /// Where each tenant has a concurrency of its own.
    pub original_concurrency: Option<u64>,
    pub effective_concurrency: Option<u64>,
    pub since: Option<String>,
    pub until: Option<String>,
}

/// A tenant takes more than its neighbours.
#[derive(Debug, Clone, Deserialize)]
pub struct Noisy {
    /// What it was noticed by.
    pub signal: Option<String>,
    pub value: Option<f64>,
    pub threshold: Option<f64>,
    pub since: Option<String>,
    /// What was done about it.
    pub action: Option<String>,
}

/// How a tenant is doing.
#[derive(Debug, Clone, Deserialize)]
pub struct TenantStats {
    pub tenant_id: Option<String>,
    #[serde(default)]
    pub jobs: TenantJobs,
    #[serde(default)]
    pub throughput: Throughput,
    #[serde(default)]
    pub limits: BTreeMap<String, Option<LimitUse>>,
    #[serde(default)]
    pub fairness: TenantShare,
    pub total_jobs: Option<u64>,
    pub depth: Option<u64>,
    pub bytes: Option<u64>,
    pub throttle: Option<Throttle>,
    pub noisy: Option<Noisy>,
    #[serde(default)]
    pub queues: Vec<TenantQueue>,
}

/// What a tenant used, period by period.
#[derive(Debug, Clone, Deserialize)]
pub struct TenantUsage {
    /// `hour` or `day`.
    pub per: String,
    /// Periods that begin from here on, and before `to`.
    pub from: String,
    pub to: String,
    /// Only periods in which something happened, oldest first.
    pub items: Vec<UsedIn>,
    /// Over the whole range, also where `items` is one page of several.
    pub total: Used,
}

/// One period of usage.
#[derive(Debug, Clone, Deserialize)]
pub struct UsedIn {
    pub from: String,
    pub to: String,
    #[serde(flatten)]
    pub used: Used,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct Used {
    #[serde(default)]
    pub jobs: UsedJobs,
    /// Of all executions that ended.
    #[serde(default)]
    pub run_time_ms: u64,
    /// Of the jobs that were enqueued.
    #[serde(default)]
    pub accepted_bytes: u64,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct UsedJobs {
    #[serde(default)]
    pub enqueued: u64,
    #[serde(default)]
    pub started: u64,
    #[serde(default)]
    pub completed: u64,
    #[serde(default)]
    pub failed: u64,
    #[serde(default)]
    pub discarded: u64,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct Throughput {
    pub processed_per_minute: Option<f64>,
    pub enqueued_per_minute: Option<f64>,
}

/// The limits of a tenant, each with its use.
#[derive(Debug, Clone, Deserialize)]
pub struct TenantLimitUse {
    pub tenant_id: Option<String>,
    #[serde(default)]
    pub limits: BTreeMap<String, Option<LimitUse>>,
}

/// How much of a limit is used.
#[derive(Debug, Clone, Deserialize)]
pub struct LimitUse {
    /// A number; null where there is no limit.
    #[serde(default)]
    pub limit: Value,
    pub current: Option<f64>,
    /// Of a rate.
    pub period: Option<String>,
}

/// A tenant's part of a queue.
#[derive(Debug, Clone, Deserialize)]
pub struct TenantQueue {
    pub name: String,
    pub shard: Option<String>,
    #[serde(default)]
    pub available: u64,
    #[serde(default)]
    pub active: u64,
    #[serde(default)]
    pub scheduled: u64,
    #[serde(default)]
    pub retryable: u64,
    #[serde(default)]
    pub pending: u64,
    #[serde(default)]
    pub paused: bool,
}

/// What is said about a tenant.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TenantConfig {
    #[serde(skip_serializing_if = "NewTenantLimits::is_empty")]
    pub limits: NewTenantLimits,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fairness_weight: Option<Setting<Number>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_boost: Option<Setting<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_priority: Option<Setting<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<String>,
    /// For those who look at the changes later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NewTenantLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<Setting<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_enqueue_rate: Option<Setting<Rate>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_queue_depth: Option<Setting<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_scheduled: Option<Setting<u64>>,
}

impl NewTenantLimits {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
