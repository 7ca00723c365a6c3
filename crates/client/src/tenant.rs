//! Tenants: their configuration, statistics and usage.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use crate::{Rate, Setting};

/// A tenant in a list.
#[derive(Debug, Clone, Deserialize)]
pub struct TenantSummary {
    /// The tenant.
    pub tenant_id: String,
    /// `default`, `file` or `api`: who has configured it.
    pub origin: Option<String>,
    /// Its jobs in each state.
    #[serde(default)]
    pub jobs: TenantJobs,
    /// Number of waiting jobs in any state.
    #[serde(default)]
    pub depth: u64,
    /// The entitled and the actual share.
    #[serde(default)]
    pub fairness: TenantShare,
    /// Whether the tenant is throttled because it is noisy.
    #[serde(default)]
    pub throttled: bool,
}

/// A tenant's jobs, over all queues.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TenantJobs {
    /// Ready to be fetched.
    pub available: u64,
    /// Being run by a worker.
    pub active: u64,
    /// Waiting for their start time.
    pub scheduled: u64,
    /// Failed and waiting for the next attempt.
    pub retryable: u64,
    /// Waiting for activation.
    pub pending: u64,
    /// Executions that were acknowledged within the last day.
    pub completed_24h: u64,
    /// Executions that failed within the last day.
    pub failed_24h: u64,
}

/// The entitled and the actual share of a tenant, from 0 to 1.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct TenantShare {
    /// As configured.
    pub weight: Option<f64>,
    /// The effective weight, which is smaller while the tenant is throttled.
    pub effective_weight: Option<f64>,
    /// The share that its weight entitles it to, from 0 to 1.
    pub effective_share: Option<f64>,
    /// The tenant's share of the dispatches in the last minute, from 0 to 1.
    pub actual_share: Option<f64>,
}

/// A tenant, as it is configured.
#[derive(Debug, Clone, Deserialize)]
pub struct Tenant {
    /// The tenant.
    pub tenant_id: String,
    /// `api`, `file` or `default`: who configured it.
    pub origin: Option<String>,
    /// The bounds in force.
    #[serde(default)]
    pub limits: TenantLimits,
    /// Its weight; `None` is the server's default.
    pub fairness_weight: Option<f64>,
    /// Added to the priority of its jobs.
    pub priority_boost: Option<i64>,
    /// Maximum priority of the tenant's jobs, before the boost.
    pub max_priority: Option<i64>,
    /// `hard` or `soft`.
    pub quota: Option<String>,
    /// Its own limits on requests by scope, such as `600/50`.
    #[serde(default)]
    pub request_limits: BTreeMap<String, String>,
    /// Whether anything is configured for it.
    pub configured: Option<bool>,
    /// How the tenant is throttled, if it is.
    pub throttle: Option<Throttle>,
    /// Why the tenant counts as noisy, if it does.
    pub noisy: Option<Noisy>,
    /// The tenant's statistics.
    pub stats: Option<TenantStats>,
    /// The configuration in the file, if the API has overridden it.
    pub file: Option<Value>,
    /// When it was first configured.
    pub created_at: Option<String>,
    /// When its configuration last changed.
    pub updated_at: Option<String>,
    /// Why it last changed.
    pub reason: Option<String>,
}

/// The limits of a tenant. `None` is unlimited.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct TenantLimits {
    /// Maximum number of active jobs over all queues.
    pub max_concurrency: Option<u64>,
    /// Maximum number of jobs enqueued in any window of the period.
    pub max_enqueue_rate: Option<Rate>,
    /// Maximum number of waiting jobs in any state.
    pub max_queue_depth: Option<u64>,
    /// Maximum number of scheduled jobs.
    pub max_scheduled: Option<u64>,
    /// Maximum number of stored bytes.
    pub max_bytes: Option<u64>,
}

/// The temporary throttling of a noisy tenant.
#[derive(Debug, Clone, Deserialize)]
pub struct Throttle {
    /// The signal that set it off.
    pub reason: Option<String>,
    /// What is done about it.
    pub action: Option<String>,
    /// The weight without it.
    pub original_weight: Option<f64>,
    /// The weight in force.
    pub effective_weight: Option<f64>,
    /// Where each tenant has a concurrency of its own.
    pub original_concurrency: Option<u64>,
    /// The concurrency in force.
    pub effective_concurrency: Option<u64>,
    /// When it began.
    pub since: Option<String>,
    /// When it ends by itself.
    pub until: Option<String>,
}

/// Why a tenant counts as noisy.
#[derive(Debug, Clone, Deserialize)]
pub struct Noisy {
    /// What it was noticed by.
    pub signal: Option<String>,
    /// What was measured.
    pub value: Option<f64>,
    /// What would be too much.
    pub threshold: Option<f64>,
    /// Since when it is above that.
    pub since: Option<String>,
    /// What was done about it.
    pub action: Option<String>,
}

/// The statistics of a tenant.
#[derive(Debug, Clone, Deserialize)]
pub struct TenantStats {
    /// The tenant.
    pub tenant_id: Option<String>,
    /// Its jobs in each state.
    #[serde(default)]
    pub jobs: TenantJobs,
    /// How fast it goes.
    #[serde(default)]
    pub throughput: Throughput,
    /// Each limit by its name; `None` where there is none.
    #[serde(default)]
    pub limits: BTreeMap<String, Option<LimitUse>>,
    /// The entitled and the actual share.
    #[serde(default)]
    pub fairness: TenantShare,
    /// All jobs, with finished ones that retention has not removed.
    pub total_jobs: Option<u64>,
    /// Number of waiting jobs in any state.
    pub depth: Option<u64>,
    /// Bytes of the jobs that have not ended.
    pub bytes: Option<u64>,
    /// Stored bytes of all jobs, with results and errors, and of schedules.
    pub stored_bytes: Option<u64>,
    /// How the tenant is throttled, if it is.
    pub throttle: Option<Throttle>,
    /// Why the tenant counts as noisy, if it does.
    pub noisy: Option<Noisy>,
    /// Its part of each queue.
    #[serde(default)]
    pub queues: Vec<TenantQueue>,
}

/// The usage of a tenant by period.
#[derive(Debug, Clone, Deserialize)]
pub struct TenantUsage {
    /// `hour` or `day`.
    pub per: String,
    /// Periods that begin from here on, and before `to`.
    pub from: String,
    /// The end of the range; not part of it.
    pub to: String,
    /// Only periods in which something happened, oldest first.
    pub items: Vec<UsedIn>,
    /// Over the whole range, also where `items` is one page of several.
    pub total: Used,
}

/// One period of usage.
#[derive(Debug, Clone, Deserialize)]
pub struct UsedIn {
    /// The beginning of the period.
    pub from: String,
    /// The end of the period; not part of it.
    pub to: String,
    /// What was used in it.
    #[serde(flatten)]
    pub used: Used,
}

/// The usage of a tenant.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Used {
    /// Jobs and executions.
    #[serde(default)]
    pub jobs: UsedJobs,
    /// Of all executions that ended.
    #[serde(default)]
    pub run_time_ms: u64,
    /// Of the jobs that were enqueued.
    #[serde(default)]
    pub accepted_bytes: u64,
}

/// Jobs and executions of a tenant.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct UsedJobs {
    /// Jobs accepted.
    #[serde(default)]
    pub enqueued: u64,
    /// Executions begun.
    #[serde(default)]
    pub started: u64,
    /// Executions that were acknowledged.
    #[serde(default)]
    pub completed: u64,
    /// Executions that failed, retried or not.
    #[serde(default)]
    pub failed: u64,
    /// Jobs that failed for good, were dropped or expired.
    #[serde(default)]
    pub discarded: u64,
}

/// Averages over the last minute.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Throughput {
    /// Executions that ended, per minute.
    pub processed_per_minute: Option<f64>,
    /// Jobs accepted, per minute.
    pub enqueued_per_minute: Option<f64>,
}

/// The limits of a tenant, each with its use.
#[derive(Debug, Clone, Deserialize)]
pub struct TenantLimitUse {
    /// The tenant.
    pub tenant_id: Option<String>,
    /// Each limit by its name; `None` where there is none.
    #[serde(default)]
    pub limits: BTreeMap<String, Option<LimitUse>>,
}

/// How much of a limit is used.
#[derive(Debug, Clone, Deserialize)]
pub struct LimitUse {
    /// A number; null where there is no limit.
    #[serde(default)]
    pub limit: Value,
    /// What is in use.
    pub current: Option<f64>,
    /// Of a rate.
    pub period: Option<String>,
}

/// A tenant's part of a queue.
#[derive(Debug, Clone, Deserialize)]
pub struct TenantQueue {
    /// The queue.
    pub name: String,
    /// The name of its part of the queue.
    pub shard: Option<String>,
    /// Ready to be fetched.
    #[serde(default)]
    pub available: u64,
    /// Being run by a worker.
    #[serde(default)]
    pub active: u64,
    /// Waiting for their start time.
    #[serde(default)]
    pub scheduled: u64,
    /// Failed and waiting for the next attempt.
    #[serde(default)]
    pub retryable: u64,
    /// Waiting for activation.
    #[serde(default)]
    pub pending: u64,
    /// Whether the queue is paused for this tenant.
    #[serde(default)]
    pub paused: bool,
}

/// The configuration of a tenant to set.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TenantConfig {
    /// Limits to set or remove.
    #[serde(skip_serializing_if = "NewTenantLimits::is_empty")]
    pub limits: NewTenantLimits,
    /// The tenant's weight, from 0.01 to 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fairness_weight: Option<Setting<Number>>,
    /// Added to the priority of its jobs, from -1000 to 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_boost: Option<Setting<i64>>,
    /// Maximum priority of the tenant's jobs, before the boost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_priority: Option<Setting<i64>>,
    /// `hard` or `soft`: whether jobs beyond a limit are rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<String>,
    /// Limits on requests by scope, such as `600/50`, to set or remove.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub request_limits: BTreeMap<String, Setting<String>>,
    /// The reason, shown in the history of changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Limits of a tenant to set or remove. Fields that are `None` do not change.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NewTenantLimits {
    /// Maximum number of active jobs over all queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<Setting<u64>>,
    /// Maximum number of jobs enqueued in any window of the period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_enqueue_rate: Option<Setting<Rate>>,
    /// Maximum number of waiting jobs in any state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_queue_depth: Option<Setting<u64>>,
    /// Maximum number of scheduled jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_scheduled: Option<Setting<u64>>,
    /// Maximum number of stored bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<Setting<u64>>,
}

impl NewTenantLimits {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
