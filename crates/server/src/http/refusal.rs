//! Converts the engine's refusals into HTTP errors.

use axum::http::StatusCode;
use rota_engine::Refusal;
use rota_model::{Rejection, State};

use super::error::ApiError;
use super::{cap_reached, over_limit};

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::UnknownJob => Self::not_found("job", "?"),
            Refusal::IdTaken { id, index } => {
                Self::conflict(format!("The id '{id}' is taken by another job."))
                    .with_code("duplicate")
                    .kind("conflict")
                    .hint("Leave 'id' out, or choose a fresh UUIDv7.")
                    .detail("existing_job_id", id.to_string())
                    .detail("index", index)
            }
            Refusal::NotActive { state } => {
                Self::conflict(format!("The job is not active; its state is '{state}'."))
                    .hint("Its reservation may have expired, or its outcome was already reported.")
                    .detail("current_state", state.as_str())
                    .detail("expected_state", "active")
            }
            Refusal::NotHolder { worker, attempt } => {
                Self::conflict("The job is held by another worker or attempt.")
                    .hint("This execution has lost its reservation; discard its outcome.")
                    .detail("worker_id", worker.map(|id| id.local().to_owned()))
                    .detail("attempt", attempt)
            }
            Refusal::Terminal { state } => {
                Self::conflict(format!("The job has ended; its state is '{state}'."))
                    .hint("Nothing can be done to a job that has ended, except retrying it.")
                    .detail("current_state", state.as_str())
            }
            Refusal::NotPending { state } => Self::conflict(format!(
                "Only pending jobs can be activated; the state of this one is '{state}'."
            ))
            .hint("Enqueue with \"pending\": true to stage a job.")
            .detail("current_state", state.as_str()),
            Refusal::NotRetryable { state } => Self::conflict(format!(
                "Only discarded and cancelled jobs can be retried; the state of this one is \
                 '{state}'."
            ))
            .hint("Wait until it has ended.")
            .detail("current_state", state.as_str()),
            Refusal::NotWaiting { state } => Self::conflict(format!(
                "Only the priority of available, scheduled and pending jobs can be changed; the state of \
                 this one is '{state}'."
            ))
            .hint(match state {
                State::Retryable => "Wait until it is available again.",
                _ => "The priority decides when a job starts, so it is fixed once it has started.",
            })
            .detail("current_state", state.as_str()),
            Refusal::StillActive => Self::conflict("The job is active and cannot be deleted.")
                .hint("Cancel it first.")
                .detail("current_state", "active"),
            Refusal::NoLongerSelected { state } => Self::conflict(format!(
                "The job has changed meanwhile and was left as it is; its state is '{state}'."
            ))
            .hint("Look at it again, and repeat the request with its id if that is still wanted.")
            .detail("current_state", state.as_str()),
            Refusal::UnknownWorker => Self::not_found("worker", "?"),
            Refusal::OthersWorker => Self::new(
                StatusCode::FORBIDDEN,
                "forbidden",
                "The worker with this id does not belong to the tenant of the request.",
            )
            .hint(
                "Choose another worker_id, or send the header X-OJS-Tenant with all requests of \
                 a worker or with none.",
            )
            .detail("field", "worker_id"),
            Refusal::WorkerNotStale => Self::conflict(
                "The worker is alive: it was last seen within the heartbeat timeout.",
            )
            .hint("Quiet it instead, or wait until it is stale."),
            Refusal::OtherPool { pool } => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "invalid_request",
                format!(
                    "The worker belongs to the pool '{}' and cannot join another while that \
                     pool exists.",
                    pool.local()
                ),
            )
            .hint(format!(
                "Send \"pool\": \"{}\" or leave 'pool' out; to change pools, deregister the \
                 worker first.",
                pool.local()
            ))
            .detail("pool", pool.local()),
            Refusal::UnknownQueue => Self::not_found("queue", "?"),
            Refusal::QueueExists => Self::conflict("There is a queue of this name already.")
                .hint("PUT /ojs/v1/queues/{name}/config changes its configuration."),
            Refusal::UnknownCron => Self::not_found("cron job", "?"),
            // Its number is of no use to clients; the route names the job.
            Refusal::RunUnfinished { .. } => Self::conflict(
                "An earlier run of the cron job has not ended, and its overlap_policy is 'skip'.",
            )
            .hint("Wait for it, cancel it, or choose another overlap_policy."),
            Refusal::CapReached(reached) => cap_reached::error(&reached),
            Refusal::UndeclaredKey { key } => Self::validation(
                "rate_limit.scope",
                format!(
                    "The key '{key}' is not declared, so its limit cannot be shared by all tenants."
                ),
            )
            .hint(
                "Leave 'scope' out to limit the tenant's own jobs, or let an operator \
                 PUT /ojs/v1/rate-limits/{key}.",
            ),
            Refusal::NotDeclared => Self::validation(
                "feedback",
                "'feedback' belongs to a declaration, and this limit is not declared.",
            )
            .hint("Send concurrency, rate or throttle as well."),
            refusal @ (Refusal::TenantLimit { .. } | Refusal::QueueFull { .. }) => {
                over_limit::error(refusal)
            }
            Refusal::UnknownPool { pool } => {
                Self::validation("pool", format!("There is no pool '{}'.", pool.local()))
                    .hint("GET /ojs/v1/admin/pools lists all pools.")
                    .detail("pool", pool.local())
            }
            Refusal::OperatorsPool { pool } => Self::new(
                StatusCode::FORBIDDEN,
                "forbidden",
                format!("The pool '{}' is the operator's, and a tenant cannot change it.", pool.local()),
            )
            .hint("Choose another name for a pool of your own.")
            .detail("pool", pool.local()),
            Refusal::RatioTooLarge { queues } => Self::validation(
                "queues",
                format!(
                    "Each of {queues} queues cannot be guaranteed starvation.min_dispatch_ratio of \
                     all dispatches: together that is more than 1."
                ),
            )
            .hint(
                "Name fewer queues, or lower starvation.min_dispatch_ratio in the server's \
                 configuration.",
            ),
            Refusal::NoQueues => {
                let text = "must name at least one queue, or the request a pool";
                Rejection::field("queues", text)
                    .hint(
                        "Send \"queues\": [\"default\"], or register the worker with queues or a \
                         pool.",
                    )
                    .into()
            }
            Refusal::NotInPool { pool, queue } => {
                let (queue, name) = (queue.local(), pool.local());
                let text = format!("The queue '{queue}' is not among those of the pool '{name}'.");
                Self::validation("queues", text)
                    .hint("Leave 'queues' out to be served from all queues of the pool.")
                    .detail("pool", name)
            }
            Refusal::UnknownTenant => Self::not_found("tenant", "?"),
            Refusal::QueueHasJobs { living } => has_jobs_error("queue", living),
            Refusal::TenantHasJobs { living } => has_jobs_error("tenant", living),
            Refusal::NotThrottled => Self::conflict("The tenant is not throttled.").hint(
                "There is no throttle to release; GET /ojs/v1/admin/tenants/{id} shows \
                     'throttle'.",
            ),
            Refusal::UnknownKey => Self::not_found("key", "?"),
            Refusal::KeyExists => Self::conflict("There is another key of this id.")
                .hint("Send the request again; the server chooses another id."),
            Refusal::KeyEnded { state } => {
                Self::conflict(format!("The key cannot be used any more: it is {}.", state.name()))
                    .hint("Create a new one with POST /ojs/v1/admin/keys.")
                    .detail("current_state", state.name())
            }
            Refusal::KeyRotated { successor } => {
                Self::conflict(format!("The key was rotated before; its successor is {successor}."))
                    .hint("If the successor's secret is lost, revoke the successor and rotate this key again.")
                    .detail("successor", successor.as_str())
            }
            Refusal::KeyActive => Self::conflict("The key works; only ended keys can be deleted.")
                .hint("Revoke it first, with POST /ojs/v1/admin/keys/{id}/revoke."),
            Refusal::KeyKept => Self::conflict(
                "The record of the first operator key is kept, so that the next start does not bring the \
                 key back.",
            )
            .hint("The key has ended; nothing else needs to be done."),
            Refusal::UnknownLimit => Self::not_found("rate limit", "?"),
        }
    }
}

/// The error for deleting a queue or tenant that has unfinished jobs.
fn has_jobs_error(what: &str, unfinished: u64) -> ApiError {
    let jobs = if unfinished == 1 { "one job" } else { &format!("{unfinished} jobs") };
    ApiError::conflict(format!("The {what} has {jobs} not finished yet."))
        .hint("Wait for them, or send ?purge=true with {\"confirm\": true} to remove them.")
        .detail("live_jobs", unfinished)
}
