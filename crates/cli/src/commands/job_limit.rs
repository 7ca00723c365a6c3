//! Options for the rate limit that a job carries.

use clap::Args;
use rota_client::{JobRateLimit, Rate};

use super::number::at_least;
use super::rate::rate;

#[derive(Debug, Args)]
pub(crate) struct JobLimit {
    /// Jobs with the same key are limited together; default: the key of its queue
    #[arg(long, value_name = "KEY", help_heading = "Rate limit")]
    limit_key: Option<String>,

    /// Maximum active jobs of the key
    #[arg(long, value_name = "N", value_parser = at_least(0_u64), help_heading = "Rate limit")]
    limit_concurrency: Option<u64>,

    /// Maximum starts in a period, such as 100/1m
    #[arg(long, value_name = "N/TIME", value_parser = rate, help_heading = "Rate limit")]
    limit_rate: Option<Rate>,

    /// The same, evenly spaced, such as 10/1s
    #[arg(long, value_name = "N/TIME", value_parser = rate, help_heading = "Rate limit")]
    limit_throttle: Option<Rate>,

    /// What to do if the limit is closed when the job would start; default wait
    #[arg(long, value_parser = ["wait", "reschedule", "drop"], help_heading = "Rate limit")]
    on_limit: Option<String>,

    /// Whether to count jobs of all tenants together, or each tenant separately
    #[arg(long, value_parser = ["global", "tenant"], help_heading = "Rate limit")]
    limit_scope: Option<String>,
}

impl JobLimit {
    pub fn given(self) -> Option<JobRateLimit> {
        let limit = JobRateLimit {
            key: self.limit_key,
            concurrency: self.limit_concurrency,
            rate: self.limit_rate,
            throttle: self.limit_throttle,
            on_limit: self.on_limit,
            scope: self.limit_scope,
        };
        (limit != JobRateLimit::default()).then_some(limit)
    }
}
