//! Jobs that do not fit: now, or ever.

use axum::http::StatusCode;
use rota_engine::{QueueView, Refusal};
use rota_model::State;

use super::App;
use super::error::ApiError;

/// More jobs than a tenant or a queue may have.
pub(super) fn error(refusal: Refusal) -> ApiError {
    match refusal {
        Refusal::TenantLimit { tenant, limit, current, maximum, retry_ms } => {
            let text = match retry_ms {
                Some(_) => format!("Tenant '{tenant}' has exceeded {limit} ({maximum})"),
                None => format!("Tenant '{tenant}' may never have this much: {limit} is {maximum}"),
            };
            let status = match retry_ms {
                Some(_) => StatusCode::TOO_MANY_REQUESTS,
                None => StatusCode::UNPROCESSABLE_ENTITY,
            };
            let error = ApiError::new(status, "TENANT_LIMIT_EXCEEDED", text)
                .member("tenant_id", tenant.to_string())
                .member("limit", limit)
                .member("current", current)
                .member("maximum", maximum);
            again(error, retry_ms, maximum, "limit")
        }
        Refusal::QueueFull { queue, tenant, depth, bound, in_bytes, strategy, retry_ms } => {
            let queue = queue.local();
            let what = if in_bytes { "size bound" } else { "depth bound" };
            let unit = if in_bytes { "bytes" } else { "jobs" };
            let text = match (&tenant, retry_ms) {
                (None, Some(_)) => format!("Queue '{queue}' has reached its {what} ({bound})"),
                (Some(tenant), Some(_)) => {
                    format!("Tenant '{tenant}' has reached its {what} in queue '{queue}' ({bound})")
                }
                (None, None) => {
                    format!("Queue '{queue}' never has room for this: its {what} is {bound} {unit}")
                }
                (Some(tenant), None) => format!(
                    "Tenant '{tenant}' never has room for this in queue '{queue}': its {what} is \
                     {bound} {unit}"
                ),
            };
            // The specification knows no other answer, so what never fits has no Retry-After instead.
            let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "QUEUE_FULL", text)
                .member("queue", queue)
                .member("strategy", strategy.as_str());
            let error = match in_bytes {
                true => error.member("size_bytes", depth).member("bound_bytes", bound),
                false => in_jobs(error, depth, Some(bound)),
            };
            let error = match tenant {
                Some(tenant) => error.member("tenant_id", tenant.to_string()),
                None => error,
            };
            again(error, retry_ms, bound, "bound")
        }
        other => other.into(),
    }
}

/// The same for a queue that is full of bytes, which has a depth in jobs as well.
pub(super) async fn error_with_depth(app: &App, refusal: Refusal) -> ApiError {
    let Refusal::QueueFull { queue, tenant, in_bytes: true, .. } = &refusal else {
        return refusal.into();
    };
    let (queue, tenant) = (queue.clone(), tenant.clone());
    let of_tenant = tenant.is_some();
    let look = app.handle.look(move |engine| match tenant {
        Some(tenant) => engine.queue_of_tenant(&queue, &tenant),
        None => engine.queue(&queue),
    });
    let Ok(Some(view)) = look.await else { return refusal.into() };
    let bounds = view.settings.bounds;
    let bound = bounds.map(|all| if of_tenant { all.tenant_max_depth } else { all.max_depth });
    in_jobs(refusal.into(), depth(&view), bound.filter(|most| *most > 0))
}

/// Jobs that wait in a queue.
pub(super) fn depth(view: &QueueView) -> u64 {
    State::WAITING.into_iter().map(|state| view.totals.of(state)).sum()
}

fn in_jobs(error: ApiError, depth: u64, bound: Option<u64>) -> ApiError {
    let error = error.member("depth", depth).header("x-ojs-queue-depth", depth);
    match bound {
        Some(bound) => error.member("bound", bound).header("x-ojs-queue-bound", bound),
        None => error,
    }
}

/// What could never be admitted is not worth sending again.
fn again(error: ApiError, retry_ms: Option<u64>, most: u64, what: &str) -> ApiError {
    match retry_ms {
        Some(ms) => error
            .hint(format!(
                "Send the jobs again after the time in Retry-After, or raise the {what}."
            ))
            .retry_after(ms.div_ceil(1_000).max(1)),
        None if most == 0 => error.hint(format!("Nothing is admitted until the {what} is raised.")),
        None => error.hint(format!(
            "This is more than will ever be admitted: send less at once, or raise the {what}."
        )),
    }
}
