//! What is known of a tenant, and what can be said about it.

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
    /// Jobs that wait, in any way.
    #[serde(default)]
    pub depth: u64,
    /// What it is entitled to, and what it got.
    #[serde(default)]
    pub fairness: TenantShare,
    /// Whether the server slows it down because it is noisy.
    #[serde(default)]
    pub throttled: bool,
}

/// A tenant's jobs, over all queues.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct TenantJobs {
    /// Ready to be fetched.
    pub available: u64,
    /// Held by a worker.
    pub active: u64,
    /// Wait for their start time.
    pub scheduled: u64,
    /// Failed, and wait for the next attempt.
    pub retryable: u64,
    /// Wait for activation.
    pub pending: u64,
    /// Executions that were acknowledged within the last day.
    pub completed_24h: u64,
    /// Executions that failed within the last day.
    pub failed_24h: u64,
}

/// What a tenant is entitled to, and what it gets; shares are from 0 to 1.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct TenantShare {
    /// As configured.
    pub weight: Option<f64>,
    /// As in force: smaller while the tenant is throttled.
    pub effective_weight: Option<f64>,
    /// The share that its weight entitles it to, from 0 to 1.
    pub effective_share: Option<f64>,
    /// Its share of what was handed out in the last minute, from 0 to 1.
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
    /// Its jobs count as having no higher priority, before the boost.
    pub max_priority: Option<i64>,
    /// `hard` or `soft`.
    pub quota: Option<String>,
    /// Whether anything is configured for it.
    pub configured: Option<bool>,
    /// How it is slowed down, if it is.
    pub throttle: Option<Throttle>,
    /// Why it counts as noisy, if it does.
    pub noisy: Option<Noisy>,
    /// What it has and does.
    pub stats: Option<TenantStats>,
    /// What the file says, where the API has overridden it.
    pub file: Option<Value>,
    /// When it was first configured.
    pub created_at: Option<String>,
    /// When its configuration last changed.
    pub updated_at: Option<String>,
    /// Why it last changed.
    pub reason: Option<String>,
}

/// A tenant's bounds. `None` is no bound.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct TenantLimits {
    /// The most jobs active at once, over all queues.
    pub max_concurrency: Option<u64>,
    /// The most jobs enqueued in any window of the period.
    pub max_enqueue_rate: Option<Rate>,
    /// The most jobs that wait, in whatever state.
    pub max_queue_depth: Option<u64>,
    /// The most scheduled jobs.
    pub max_scheduled: Option<u64>,
}

/// A tenant gets less for a while, because it took too much.
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

/// A tenant takes more than its neighbours.
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

/// How a tenant is doing.
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
    /// What it is entitled to, and what it got.
    #[serde(default)]
    pub fairness: TenantShare,
    /// All jobs, with finished ones that retention has not removed.
    pub total_jobs: Option<u64>,
    /// Jobs that wait, in whatever state.
    pub depth: Option<u64>,
    /// Bytes of the jobs that have not ended.
    pub bytes: Option<u64>,
    /// How it is slowed down, if it is.
    pub throttle: Option<Throttle>,
    /// Why it counts as noisy, if it does.
    pub noisy: Option<Noisy>,
    /// Its part of each queue.
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

/// What a tenant used.
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
    /// Held by a worker.
    #[serde(default)]
    pub active: u64,
    /// Wait for their start time.
    #[serde(default)]
    pub scheduled: u64,
    /// Failed, and wait for the next attempt.
    #[serde(default)]
    pub retryable: u64,
    /// Wait for activation.
    #[serde(default)]
    pub pending: u64,
    /// Whether the queue is paused for this tenant.
    #[serde(default)]
    pub paused: bool,
}

/// What is said about a tenant.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TenantConfig {
    /// Bounds to set or take away.
    #[serde(skip_serializing_if = "NewTenantLimits::is_empty")]
    pub limits: NewTenantLimits,
    /// Its share of what is handed out, from 0.01 to 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fairness_weight: Option<Setting<Number>>,
    /// Added to the priority of its jobs, from -1000 to 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_boost: Option<Setting<i64>>,
    /// Its jobs count as having no higher priority, before the boost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_priority: Option<Setting<i64>>,
    /// `hard` or `soft`: whether jobs beyond a limit are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<String>,
    /// For those who look at the changes later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Bounds of a tenant to set or take away. What is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NewTenantLimits {
    /// The most jobs active at once, over all queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<Setting<u64>>,
    /// The most jobs enqueued in any window of the period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_enqueue_rate: Option<Setting<Rate>>,
    /// The most jobs that wait, in whatever state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_queue_depth: Option<Setting<u64>>,
    /// The most scheduled jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_scheduled: Option<Setting<u64>>,
}

impl NewTenantLimits {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
