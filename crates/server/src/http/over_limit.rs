//! Errors for enqueues over a quota of the tenant or a bound of the queue.

use axum::http::StatusCode;
use rota_engine::{QueueView, Refusal};
use rota_model::State;

use super::Access;
use super::error::ApiError;

/// The error for [`Refusal::TenantLimit`] and [`Refusal::QueueFull`]. Without `retry_ms`, the jobs would
/// not fit into an empty queue either.
pub(super) fn error(refusal: Refusal) -> ApiError {
    match refusal {
        Refusal::TenantLimit { tenant, limit, current, maximum, retry_ms, job_too_large } => {
            let text = match retry_ms {
                Some(_) => format!("Tenant '{tenant}' has exceeded {limit} ({maximum})"),
                None if job_too_large => {
                    format!(
                        "A job is larger than all that tenant '{tenant}' may store: {limit} is {maximum}"
                    )
                }
                None => format!("Tenant '{tenant}' can never have this much: {limit} is {maximum}"),
            };
            let status = match retry_ms {
                Some(_) => StatusCode::TOO_MANY_REQUESTS,
                None if job_too_large => StatusCode::PAYLOAD_TOO_LARGE,
                None => StatusCode::UNPROCESSABLE_ENTITY,
            };
            let error = ApiError::new(status, "TENANT_LIMIT_EXCEEDED", text)
                .member("tenant_id", tenant.to_string())
                .member("limit", limit)
                .member("current", current)
                .member("maximum", maximum);
            if limit == "max_bytes" && retry_ms.is_some() {
                let hint = "Delete finished jobs, keep them for a shorter time, or raise the limit; then send the \
                            jobs again.";
                return with_retry(error, retry_ms, maximum, "limit").hint(hint);
            }
            if job_too_large && maximum > 0 {
                return error.hint("Send a smaller job, or raise the limit.");
            }
            with_retry(error, retry_ms, maximum, "limit")
        }
        Refusal::QueueFull { queue, tenant, depth, bound, in_bytes, strategy, retry_ms } => {
            let queue = queue.local();
            let bound_name = if in_bytes { "size bound" } else { "depth bound" };
            let unit = if in_bytes { "bytes" } else { "jobs" };
            let text = match (&tenant, retry_ms) {
                (None, Some(_)) => {
                    format!("Queue '{queue}' has reached its {bound_name} ({bound})")
                }
                (Some(tenant), Some(_)) => {
                    format!(
                        "Tenant '{tenant}' has reached its {bound_name} in queue '{queue}' ({bound})"
                    )
                }
                (None, None) => {
                    format!(
                        "Queue '{queue}' never has room for this: its {bound_name} is {bound} {unit}"
                    )
                }
                (Some(tenant), None) => format!(
                    "Tenant '{tenant}' never has room for this in queue '{queue}': its {bound_name} is \
                     {bound} {unit}"
                ),
            };
            // The specification has no other status for this. Jobs that never fit get the same status,
            // without Retry-After.
            let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "QUEUE_FULL", text)
                .member("queue", queue)
                .member("strategy", strategy.as_str());
            let error = match in_bytes {
                true => error.member("size_bytes", depth).member("bound_bytes", bound),
                false => with_depth(error, depth, Some(bound)),
            };
            let error = match tenant {
                Some(tenant) => error.member("tenant_id", tenant.to_string()),
                None => error,
            };
            with_retry(error, retry_ms, bound, "bound")
        }
        other => other.into(),
    }
}

/// Like [`error`]; for a queue that is full in bytes, adds its depth and bound in jobs.
pub(super) async fn error_with_depth(app: &Access, refusal: Refusal) -> ApiError {
    let Refusal::QueueFull { queue, tenant, in_bytes: true, .. } = &refusal else {
        return refusal.into();
    };
    let (queue, tenant) = (queue.clone(), tenant.clone());
    let of_tenant = tenant.is_some();
    let look = app.look(move |view| match tenant {
        Some(tenant) => view.queue_of_tenant(&queue, &tenant),
        None => view.queue(&queue),
    });
    let Ok(Some(view)) = look.await else { return refusal.into() };
    let bounds = view.settings.bounds;
    let bound =
        bounds.map(|bounds| if of_tenant { bounds.tenant_max_depth } else { bounds.max_depth });
    with_depth(refusal.into(), depth(&view), bound.filter(|bound| *bound > 0))
}

/// The number of jobs that wait in a queue.
pub(super) fn depth(view: &QueueView) -> u64 {
    State::WAITING.into_iter().map(|state| view.totals.of(state)).sum()
}

fn with_depth(error: ApiError, depth: u64, bound: Option<u64>) -> ApiError {
    let error = error.member("depth", depth).header("x-ojs-queue-depth", depth);
    match bound {
        Some(bound) => error.member("bound", bound).header("x-ojs-queue-bound", bound),
        None => error,
    }
}

/// Adds a hint, and Retry-After if a later attempt can succeed. `noun` is "limit" or "bound".
fn with_retry(error: ApiError, retry_ms: Option<u64>, maximum: u64, noun: &str) -> ApiError {
    match retry_ms {
        Some(ms) => error
            .hint(format!(
                "Send the jobs again after the time in Retry-After, or raise the {noun}."
            ))
            .retry_after(ms.div_ceil(1_000).max(1)),
        None if maximum == 0 => {
            error.hint(format!("Nothing is admitted until the {noun} is raised."))
        }
        None => error.hint(format!(
            "This is more than will ever be admitted: send less at once, or raise the {noun}."
        )),
    }
}
