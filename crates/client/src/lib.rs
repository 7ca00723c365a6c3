//! A typed client for [Open Job Spec](https://openjobspec.org) servers over HTTP.
//!
//! ```no_run
//! # async fn example() -> Result<(), rota_client::Error> {
//! use rota_client::{Client, NewJob};
//!
//! let client = Client::new("http://127.0.0.1:8080")?;
//! let job = client.enqueue(&NewJob::new("email.send").arg("you@example.com")).await?;
//! println!("{} is {}", job.id, job.state);
//! # Ok(())
//! # }
//! ```
//!
//! The module [`worker`] has a loop that fetches and runs jobs, and [`federation`] a client of many regions.
//!
//! Responses are typed and include their original JSON: see [`WithJson`]. Times are RFC 3339 and
//! durations ISO 8601, as the server writes them. A field is `None` if it was absent or null.

#![warn(missing_docs)]

mod ack;
mod audit;
mod base_url;
mod client;
mod credentials;
mod cron;
mod dead_letter;
mod enqueue;
mod envelope;
mod error;
mod events;
pub mod federation;
mod forward;
mod gateway;
mod job;
mod job_id;
mod jobs;
mod keys;
mod new_job;
mod overview;
mod page;
mod pools;
mod queue_config;
mod queues;
mod rate;
mod rate_limits;
mod response;
mod retries;
mod scheduling;
mod setting;
mod system;
mod tenant;
mod tenants;
mod timestamp;
mod tls_error;
mod typed_job;
mod with_json;
pub mod worker;
mod worker_requests;
mod workers;

pub use ack::{Ack, Nack, Settled, SettledOne};
pub use audit::{AuditEntry, AuditFilter, AuditPage};
pub use client::{Builder, Client};
pub use credentials::Credentials;
pub use cron::{Cron, CronRun, NewCron, Template, TriggeredRun};
pub use dead_letter::{DeadLetterFilter, DeadLetterStats, DeletedJob, Purged};
pub use enqueue::Enqueued;
pub use error::{Error, LimitReached, Refusal};
pub use events::{Event, EventFilter, EventPage, EventStream};
pub use forward::{Forward, Forwarded};
pub use gateway::{GatewayCandidate, GatewayLoad, GatewayRegion, GatewayRegions, GatewayRoute};
pub use job::{Job, JobError};
pub use job_id::JobId;
pub use jobs::{BulkOutcome, CancelMode, JobFilter};
pub use keys::{ApiKey, CreatedKey, NewKey, Rotation};
pub use new_job::NewJob;
pub use overview::{Maintenance, Readiness, ServerSettings, Totals};
pub use page::{Page, PageAt};
pub use pools::{NewPool, Pool, PoolTenants, StarvationPrevention};
pub use queue_config::{ConfiguredQueue, QueueConfig};
pub use queues::{Counts, DeletedQueue, Figures, OverseenQueue, Queue, QueueStats};
pub use rate::Rate;
pub use rate_limits::{
    ConcurrencyUse, Declaration, JobRateLimit, Limited, NewRateLimit, Override, RateLimit, RateUse,
    ThrottleUse,
};
pub use retries::Retries;
pub use scheduling::{
    ExplainedLimit, ExplainedQueue, ExplainedTenant, Explanation, FairTenant, Fairness, Position,
    QueueDispatches, Reason, SchedulingStats,
};
pub use setting::Setting;
pub use system::{Backend, Health, Implementation, Manifest};
pub use tenant::{
    LimitUse, NewTenantLimits, Noisy, Tenant, TenantConfig, TenantJobs, TenantLimitUse,
    TenantLimits, TenantQueue, TenantShare, TenantStats, TenantSummary, TenantUsage, Throttle,
    Throughput, Used, UsedIn, UsedJobs,
};
pub use tenants::{DeletedTenant, TenantChange, TenantOrder, UsageQuery};
pub use timestamp::timestamp;
pub use typed_job::TypedJob;
pub use with_json::WithJson;
pub use worker_requests::{Beat, Choice, Fetch, Heartbeat, Registration, Welcome};
pub use workers::{RemovedWorker, Worker, WorkerChange};
