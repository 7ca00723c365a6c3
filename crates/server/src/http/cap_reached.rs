//! Errors for caps that are reached: of one tenant, or of all tenants together.

use axum::http::StatusCode;
use rota_engine::{CapReached, Capped};

use super::error::ApiError;

/// Seconds for Retry-After where nobody knows when there is room. Clients sleep for as long as they are told,
/// before they report the error.
const SOON: u64 = 5;

/// How a cap is described in messages.
struct CapText {
    /// What is capped, in the plural.
    things: &'static str,
    /// The setting `limits.<setting>` with the total; the cap per tenant is `<setting>_per_tenant`.
    setting: &'static str,
    /// What the caller can do to make room.
    remedy: &'static str,
    /// Seconds for Retry-After, where room may appear without the caller's doing.
    retry_after: Option<u64>,
}

fn text_of(capped: Capped) -> CapText {
    let (things, setting, remedy, retry_after) = match capped {
        Capped::Tenants => (
            "tenants",
            "tenants",
            "Use one that is known, or wait until idle ones are forgotten (retention.idle); an operator can \
             configure this one with PUT /ojs/v1/admin/tenants/{id}",
            Some(60),
        ),
        Capped::Queues => {
            ("queues", "queues", "Delete one with DELETE /ojs/v1/admin/queues/{name}", Some(SOON))
        }
        Capped::Classes => (
            "classes (queue, type, priority and policy) of unfinished jobs",
            "classes",
            "Finish or delete jobs, or use fewer types and policies",
            Some(seconds_to_next_minute()),
        ),
        Capped::KeptClasses => (
            "classes (queue, type, priority and policy) of jobs, finished ones included",
            "classes",
            "Delete finished jobs, or keep them for less time",
            Some(SOON),
        ),
        Capped::RateKeys => (
            "rate limits on unfinished jobs",
            "rate_keys",
            "Use fewer keys, or let jobs finish",
            Some(SOON),
        ),
        Capped::RateLimits => (
            "rate limits with a declaration, an override or a pause",
            "rate_limits",
            "Remove one with DELETE /ojs/v1/rate-limits/{key}",
            None,
        ),
        Capped::Pools => ("pools", "pools", "Delete one", None),
        Capped::Workers => (
            "workers",
            "workers",
            "Deregister one, or wait until silent ones are forgotten (workers.forget_after)",
            Some(SOON),
        ),
        Capped::WorkerBytes => (
            "bytes of what workers say about themselves",
            "worker_bytes",
            "Send less metadata, or deregister a worker",
            None,
        ),
        Capped::Schedules => ("cron jobs", "crons", "Delete one", None),
        Capped::ScheduleBytes => (
            "bytes of cron jobs",
            "cron_bytes",
            "Delete one, or store what is large elsewhere and pass a reference",
            None,
        ),
        Capped::ScheduleRuns => {
            ("unfinished runs of cron jobs", "cron_runs", "Let some finish, or cancel them", None)
        }
        Capped::WaitingFetches => (
            "waiting fetches",
            "waiting_fetches",
            "Fetch for several queues or jobs at once, leave 'wait_ms' out, or close a fetch",
            Some(SOON),
        ),
        Capped::WaitingEnqueues => (
            "waiting enqueue requests",
            "waiting_enqueues",
            "Wait for earlier requests to be answered, or close one",
            Some(SOON),
        ),
        Capped::EventStreams => ("event streams", "event_streams", "Close one", Some(SOON)),
        Capped::Keys => (
            "API keys",
            "keys",
            "Revoke one and delete it with DELETE /ojs/v1/admin/keys/{id}",
            None,
        ),
        // Further types are counted together, so this is never refused.
        Capped::ErrorTypes => ("types of errors", "error_types", "Use fewer", None),
    };
    CapText { things, setting, remedy, retry_after }
}

pub(super) fn error(reached: &CapReached) -> ApiError {
    let cap_text = text_of(reached.capped);
    match &reached.tenant {
        Some(tenant) if reached.is_tenants() => tenant_cap_error(reached, &cap_text, tenant),
        _ => total_cap_error(reached, &cap_text),
    }
}

/// The error for the cap per tenant.
fn tenant_cap_error(reached: &CapReached, cap_text: &CapText, tenant: &str) -> ApiError {
    let CapText { things, setting, remedy, retry_after } = cap_text;
    let CapReached { own, more, per_tenant: most, .. } = reached;
    let asks = match more {
        1 => String::new(),
        more => format!(" and asks for {more} more"),
    };
    let text =
        format!("Tenant '{tenant}' has {own} {things}{asks}, and {most} is the most for a tenant.");
    let status = match retry_after {
        Some(_) => StatusCode::TOO_MANY_REQUESTS,
        None => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let error = ApiError::new(status, "TENANT_LIMIT_EXCEEDED", text)
        .hint(format!("{remedy}; an operator can raise limits.{setting}_per_tenant."))
        .member("tenant_id", tenant)
        .member("limit", format!("{setting}_per_tenant"))
        .member("current", *own)
        .member("maximum", *most);
    match retry_after {
        Some(seconds) => error.retry_after(*seconds),
        None => error,
    }
}

/// The error for the cap on all tenants together, part of which is kept back. The figures of all tenants
/// are for operators.
fn total_cap_error(reached: &CapReached, cap_text: &CapText) -> ApiError {
    let CapText { setting, remedy, retry_after, .. } = cap_text;
    let CapReached { own, all, total, tenant, .. } = reached;
    let is_operator = reached.for_operator;
    let text = match is_operator {
        true => text_for_operator(reached, cap_text),
        false => text_for_tenant(reached, cap_text),
    };
    let error = match reached.capped {
        // These are short-lived, so there is room again soon.
        Capped::WaitingFetches | Capped::WaitingEnqueues | Capped::EventStreams => {
            ApiError::busy(text).retry_after(retry_after.unwrap_or(1))
        }
        Capped::Workers | Capped::Tenants => {
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", text)
                .retry_after(retry_after.unwrap_or(60))
        }
        _ => ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", text),
    };
    let error = match tenant {
        Some(tenant) => error.detail("tenant_id", tenant.to_string()).detail("own", *own),
        None => error,
    };
    let error = error.hint(format!("{remedy}; an operator can raise limits.{setting}."));
    match is_operator {
        true => error.detail("limit", *total).detail("current", *all),
        false => error,
    }
}

fn text_for_operator(reached: &CapReached, cap_text: &CapText) -> String {
    let CapText { things, setting, .. } = cap_text;
    let CapReached { own, more, all, total, tenant, .. } = reached;
    match tenant {
        Some(tenant) if reached.capped == Capped::Tenants => format!(
            "There are {all} tenants, and '{tenant}' is not one of them. What is left of limits.tenants \
             ({total}) is kept for tenants that are configured."
        ),
        Some(tenant) if all + more <= *total => format!(
            "There are {all} {things}, of which tenant '{tenant}' has {own}. The rest of \
             limits.{setting} ({total}) is kept {}for tenants that are configured, and for operators.",
            kept_first(*own)
        ),
        _ if *more > 1 => {
            format!("There are {all} {things}, and {more} more are over the limit of {total}.")
        }
        _ => format!("There are {all} {things} already, which is the limit."),
    }
}

fn text_for_tenant(reached: &CapReached, cap_text: &CapText) -> String {
    let CapText { things, setting, .. } = cap_text;
    let CapReached { own, more, all, total, tenant, .. } = reached;
    match tenant {
        Some(tenant) if reached.capped == Capped::Tenants => format!(
            "'{tenant}' is not a known tenant. What is left of limits.tenants is kept for tenants that are \
             configured."
        ),
        Some(tenant) if all + more <= *total => format!(
            "Tenant '{tenant}' has {own} {things}. What is left of limits.{setting} is kept {}for tenants \
             that are configured, and for operators.",
            kept_first(*own)
        ),
        _ => format!("There is no room for more {things}."),
    }
}

/// Whom the rest of a total is kept for, besides tenants that are configured.
fn kept_first(own: usize) -> &'static str {
    if own == 0 { "" } else { "for tenants that have none, " }
}

/// Classes of finished jobs stop counting at the next full minute.
fn seconds_to_next_minute() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    60 - now.map_or(0, |since| since.as_secs() % 60)
}
