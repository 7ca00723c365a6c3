//! Options for a tenant's configuration.

use clap::Args;
use rota_client::{NewTenantLimits, Rate, Setting, TenantConfig};
use serde_json::Number;

use crate::commands::setting::{count, rate, request_limit, size, weight, whole};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Weight of its share, relative to other tenants
    #[arg(long, value_name = "N", value_parser = weight)]
    weight: Option<Setting<Number>>,

    /// Maximum active jobs across all queues
    #[arg(long, value_name = "N", value_parser = count)]
    max_concurrency: Option<Setting<u64>>,

    /// Maximum waiting jobs; more are rejected
    #[arg(long, value_name = "N", value_parser = count)]
    max_queue_depth: Option<Setting<u64>>,

    /// Maximum scheduled jobs
    #[arg(long, value_name = "N", value_parser = count)]
    max_scheduled: Option<Setting<u64>>,

    /// Maximum bytes stored: jobs with results and errors, and schedules; such as 10gb
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_bytes: Option<Setting<u64>>,

    /// Maximum jobs enqueued in a period, such as 1000/1m
    #[arg(long, value_name = "N/TIME", value_parser = rate)]
    max_enqueue_rate: Option<Setting<Rate>>,

    /// Added to the priority of its jobs
    #[arg(long, value_name = "N", value_parser = whole)]
    priority_boost: Option<Setting<i64>>,

    /// The highest priority of its jobs, before the boost
    #[arg(long, value_name = "N", value_parser = whole)]
    max_priority: Option<Setting<i64>>,

    /// Whether jobs over a limit are rejected (hard) or accepted and reported (soft)
    #[arg(long, value_parser = ["hard", "soft"])]
    quota: Option<String>,

    /// Requests per minute and at once with a scope, such as enqueue=600/50; also default=..., off or none.
    /// Repeatable
    #[arg(long = "request-limit", value_name = "SCOPE=LIMIT", value_parser = request_limit)]
    request_limits: Vec<(String, Setting<String>)>,

    /// The reason, recorded with the change
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Options {
    pub fn config(&self) -> TenantConfig {
        TenantConfig {
            limits: NewTenantLimits {
                max_concurrency: self.max_concurrency.clone(),
                max_enqueue_rate: self.max_enqueue_rate.clone(),
                max_queue_depth: self.max_queue_depth.clone(),
                max_scheduled: self.max_scheduled.clone(),
                max_bytes: self.max_bytes.clone(),
            },
            fairness_weight: self.weight.clone(),
            priority_boost: self.priority_boost.clone(),
            max_priority: self.max_priority.clone(),
            quota: self.quota.clone(),
            request_limits: self.request_limits.iter().cloned().collect(),
            reason: self.reason.clone(),
        }
    }

    /// A reason alone is not a change.
    pub fn is_empty(&self) -> bool {
        TenantConfig { reason: None, ..self.config() } == TenantConfig::default()
    }

    pub fn has_reason(&self) -> bool {
        self.reason.is_some()
    }
}
