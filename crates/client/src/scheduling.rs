//! Scheduling statistics, and explanations why a job has not started.

use serde::Deserialize;
use serde_json::Value;

use crate::{Client, Error, WithJson};

/// The entitled and actual shares of tenants.
#[derive(Debug, Clone, Deserialize)]
pub struct Fairness {
    /// Whether fairness between tenants is enabled.
    pub enabled: Option<bool>,
    /// The scope within which tenants compete: `queue` or `pool`.
    pub scope: Option<String>,
    /// Pools with a different scope.
    #[serde(default)]
    pub pools_with_other_scope: Vec<String>,
    /// Whether jobs started by a tenant's own workers count toward its share.
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
    /// Most dispatches first.
    pub tenants: Vec<FairTenant>,
    /// Number of dispatches in the last minute, over all tenants.
    #[serde(default)]
    pub total_dispatched_1m: u64,
}

/// One tenant's share, as a fraction of 1, and how it compares with what the tenant got.
#[derive(Debug, Clone, Deserialize)]
pub struct FairTenant {
    /// The tenant.
    pub tenant_id: String,
    /// As configured.
    pub weight: Option<f64>,
    /// The effective weight, which is smaller while the tenant is throttled.
    pub effective_weight: Option<f64>,
    /// Jobs that wait.
    #[serde(default)]
    pub backlog: u64,
    /// Jobs that run.
    #[serde(default)]
    pub active: u64,
    /// The share that the tenant is entitled to, among the tenants that compete now.
    #[serde(default)]
    pub entitled_share: f64,
    /// The tenant's share of the dispatches in the last minute.
    #[serde(default)]
    pub actual_share: f64,
    /// Number of the tenant's dispatches in the last minute.
    #[serde(default)]
    pub dispatched_1m: u64,
    /// Present if the server reports it here; the tenant's statistics always have it.
    pub enqueued_per_minute: Option<f64>,
    /// Whether the tenant is throttled because it is noisy.
    #[serde(default)]
    pub throttled: bool,
}

/// How often each queue was served.
#[derive(Debug, Clone, Deserialize)]
pub struct SchedulingStats {
    /// Every queue with jobs or dispatches.
    pub queues: Vec<QueueDispatches>,
    /// ISO 8601.
    pub window: Option<String>,
}

/// How often one queue was served in the last minute.
#[derive(Debug, Clone, Deserialize)]
pub struct QueueDispatches {
    /// The queue.
    pub name: String,
    /// The queue's tenant, if tenants have their own queues.
    pub tenant_id: Option<String>,
    /// Jobs handed out.
    #[serde(default)]
    pub dispatch_count_1m: u64,
    /// Its part of all jobs that were handed out, from 0 to 1.
    #[serde(default)]
    pub dispatch_ratio_1m: f64,
    /// How long these jobs had waited, in milliseconds.
    pub avg_wait_ms: Option<f64>,
    /// Jobs that run now.
    #[serde(default)]
    pub active_jobs: u64,
    /// Whether it has waited for longer than starvation prevention allows.
    #[serde(default)]
    pub starved: bool,
}

/// Why a job has not started.
#[derive(Debug, Clone, Deserialize)]
pub struct Explanation {
    /// The job.
    pub job_id: Option<String>,
    /// Its state.
    pub state: Option<String>,
    /// Whether the next fetch may get the job.
    pub runnable: Option<bool>,
    /// One sentence.
    pub summary: String,
    /// The reasons why it cannot start, the most important first.
    #[serde(default)]
    pub reasons: Vec<Reason>,
    /// When it can start at the earliest; `None` where that is unknown.
    pub earliest_start: Option<String>,
    /// The position of an available job.
    pub position: Option<Position>,
    /// The job's tenant.
    pub tenant: Option<ExplainedTenant>,
    /// The job's queue.
    pub queue: Option<ExplainedQueue>,
    /// The limits that apply to the job.
    #[serde(default)]
    pub limits: Vec<ExplainedLimit>,
}

/// One reason why a job cannot start.
#[derive(Debug, Clone, Deserialize)]
pub struct Reason {
    /// For programs, such as `queue_paused` or `tenant_concurrency`.
    pub code: String,
    /// For people, with what to do about it.
    #[serde(default)]
    pub message: String,
}

/// The position of a job; 1 is the next.
#[derive(Debug, Clone, Deserialize)]
pub struct Position {
    /// Among jobs of the same queue, type, tenant, priority and policy.
    pub in_lane: Option<u64>,
    /// Among its tenant's jobs that are as urgent or more.
    pub of_tenant: Option<u64>,
    /// Jobs that are certain to start before it.
    pub jobs_ahead: Option<u64>,
}

/// The tenant of the job that is explained.
#[derive(Debug, Clone, Deserialize)]
pub struct ExplainedTenant {
    /// The tenant.
    pub id: String,
    /// As in force.
    pub weight: Option<f64>,
    /// From 0 to 1.
    pub share: Option<f64>,
    /// Jobs that it runs.
    pub active: Option<u64>,
    /// The most that it may run at once; `None` is no bound.
    pub max_concurrency: Option<u64>,
}

/// The queue of the job that is explained.
#[derive(Debug, Clone, Deserialize)]
pub struct ExplainedQueue {
    /// The queue.
    pub name: String,
    /// Whether it is paused, for everyone or for this tenant.
    #[serde(default)]
    pub paused: bool,
    /// Fetches that wait for a job of this queue.
    pub workers_waiting: Option<u64>,
}

/// A limit that applies to the job.
#[derive(Debug, Clone, Deserialize)]
pub struct ExplainedLimit {
    /// The key of the limit.
    pub key: String,
    /// `concurrency`, `rate` or `throttle`.
    pub strategy: Option<String>,
    /// What is allowed, in the form that the strategy has.
    #[serde(default)]
    pub limit: Value,
    /// What is in use.
    pub current: Option<f64>,
    /// When it lets the next job start; `None` where that is unknown.
    pub opens_at: Option<String>,
}

impl Client {
    /// Reads the shares of tenants, those with the most dispatches in the last minute first.
    pub async fn fairness(&self, limit: Option<u64>) -> Result<WithJson<Fairness>, Error> {
        self.get(self.endpoint(&["admin", "fairness"]).query("limit", limit)).await?.read()
    }

    /// How often each queue was served in the last minute.
    pub async fn scheduling_stats(&self) -> Result<WithJson<SchedulingStats>, Error> {
        self.get(self.endpoint(&["admin", "scheduling", "stats"])).await?.read()
    }

    /// Why a job has not started, and what to do about it.
    pub async fn explain(&self, job_id: &str) -> Result<WithJson<Explanation>, Error> {
        self.get(self.endpoint(&["admin", "jobs", job_id, "explain"])).await?.read()
    }
}
