//! Who got what lately, and why a job has not begun.

use serde::Deserialize;
use serde_json::Value;

use crate::{Client, Error, Kept};

/// What tenants are entitled to, and what they got.
#[derive(Debug, Clone, Deserialize)]
pub struct Fairness {
    pub enabled: Option<bool>,
    /// `queue` or `pool`: what a tenant's share is a share of.
    pub scope: Option<String>,
    /// Pools whose own scope is the other one.
    #[serde(default)]
    pub pools_with_other_scope: Vec<String>,
    /// Jobs that a tenant's own workers take count against its share.
    #[serde(default)]
    pub charge_own_workers: bool,
    /// `weighted`, `round-robin` or `strict`.
    pub strategy: Option<String>,
    /// `job` or `runtime`.
    pub cost: Option<String>,
    /// `global` or `tenant`.
    pub priority_scope: Option<String>,
    /// ISO 8601.
    pub window: Option<String>,
    pub tenants: Vec<FairTenant>,
    #[serde(default)]
    pub total_dispatched_1m: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct FairTenant {
    pub tenant_id: String,
    pub weight: Option<f64>,
    pub effective_weight: Option<f64>,
    #[serde(default)]
    pub backlog: u64,
    #[serde(default)]
    pub active: u64,
    #[serde(default)]
    pub entitled_share: f64,
    #[serde(default)]
    pub actual_share: f64,
    #[serde(default)]
    pub dispatched_1m: u64,
    /// Where the server tells it here; the tenant's statistics have it in any case.
    pub enqueued_per_minute: Option<f64>,
    #[serde(default)]
    pub throttled: bool,
}

/// How often each queue was served.
#[derive(Debug, Clone, Deserialize)]
pub struct SchedulingStats {
    pub queues: Vec<QueueDispatches>,
    /// ISO 8601.
    pub window: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct QueueDispatches {
    pub name: String,
    /// Whose it is, where queues belong to one tenant.
    pub tenant_id: Option<String>,
    #[serde(default)]
    pub dispatch_count_1m: u64,
    #[serde(default)]
    pub dispatch_ratio_1m: f64,
    pub avg_wait_ms: Option<f64>,
    #[serde(default)]
    pub active_jobs: u64,
    #[serde(default)]
    pub starved: bool,
}

/// Why a job has not begun, or that it has.
#[derive(Debug, Clone, Deserialize)]
pub struct Explanation {
    pub job_id: Option<String>,
    pub state: Option<String>,
    pub runnable: Option<bool>,
    /// One sentence.
    pub summary: String,
    #[serde(default)]
    pub reasons: Vec<Reason>,
    pub earliest_start: Option<String>,
    pub position: Option<Position>,
    pub tenant: Option<ExplainedTenant>,
    pub queue: Option<ExplainedQueue>,
    #[serde(default)]
    pub limits: Vec<ExplainedLimit>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Reason {
    pub code: String,
    #[serde(default)]
    pub message: String,
}

/// Its place in line; 1 is the next.
#[derive(Debug, Clone, Deserialize)]
pub struct Position {
    pub in_lane: Option<u64>,
    pub of_tenant: Option<u64>,
    pub jobs_ahead: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct ExplainedTenant {
    pub id: String,
    pub weight: Option<f64>,
    /// From 0 to 1.
    pub share: Option<f64>,
    pub active: Option<u64>,
    pub max_concurrency: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct ExplainedQueue {
    pub name: String,
    #[serde(default)]
    pub paused: bool,
    pub workers_waiting: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct ExplainedLimit {
    pub key: String,
    /// `concurrency`, `rate` or `throttle`.
    pub strategy: Option<String>,
    #[serde(default)]
    pub limit: Value,
    pub current: Option<f64>,
    pub opens_at: Option<String>,
}

impl Client {
    /// Those who were served most in the last minute first.
    pub async fn fairness(&self, limit: Option<u64>) -> Result<Kept<Fairness>, Error> {
        self.get(self.at(&["admin", "fairness"]).query("limit", limit)).await?.read()
    }

    pub async fn scheduling_stats(&self) -> Result<Kept<SchedulingStats>, Error> {
        self.get(self.at(&["admin", "scheduling", "stats"])).await?.read()
    }

    pub async fn explain(&self, job_id: &str) -> Result<Kept<Explanation>, Error> {
        self.get(self.at(&["admin", "jobs", job_id, "explain"])).await?.read()
    }
}
