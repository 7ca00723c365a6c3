//! Caps on what all tenants share.

use axum::http::StatusCode;
use rota_engine::{CapReached, Capped};

use super::error::ApiError;

/// How a cap is spoken of.
struct Words {
    /// The things, in the plural.
    things: &'static str,
    /// The setting with the total; the tenants' setting is `<setting>_per_tenant`.
    setting: &'static str,
    /// How there is room again.
    remedy: &'static str,
    /// Seconds until it may be worth trying again, where room is made without the caller's doing.
    retry_after: Option<u64>,
}

fn words(capped: Capped) -> Words {
    let (things, setting, remedy, retry_after) = match capped {
        Capped::Workers => (
            "workers",
            "workers",
            "Deregister one, or wait until silent ones are forgotten (workers.forget_after)",
            Some(60),
        ),
        Capped::Schedules => ("cron jobs", "crons", "Delete one", None),
        Capped::ScheduleRuns => {
            ("unfinished runs of cron jobs", "cron_runs", "Let some finish, or cancel them", None)
        }
        Capped::WaitingFetches => (
            "waiting fetches",
            "waiting_fetches",
            "Fetch for several queues or jobs at once, leave 'wait_ms' out, or close a fetch",
            Some(5),
        ),
        Capped::WaitingEnqueues => (
            "waiting enqueue requests",
            "waiting_enqueues",
            "Wait for earlier requests to be answered, or close one",
            Some(5),
        ),
        Capped::EventStreams => ("event streams", "event_streams", "Close one", Some(5)),
    };
    Words { things, setting, remedy, retry_after }
}

pub(super) fn error(reached: &CapReached) -> ApiError {
    let words = words(reached.capped);
    let error = match &reached.tenant {
        Some(tenant) if reached.is_tenants() => of_tenant(reached, &words, tenant),
        _ => of_all(reached, &words),
    };
    match words.retry_after {
        Some(seconds) => error.retry_after(seconds),
        None => error,
    }
}

fn of_tenant(reached: &CapReached, words: &Words, tenant: &str) -> ApiError {
    let Words { things, setting, remedy, retry_after } = words;
    let status = match retry_after {
        Some(_) => StatusCode::TOO_MANY_REQUESTS,
        None => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let (own, most) = (reached.own, reached.per_tenant);
    let text =
        format!("Tenant '{tenant}' has {own} {things}, and {most} is the most for a tenant.");
    ApiError::new(status, "TENANT_LIMIT_EXCEEDED", text)
        .hint(format!("{remedy}; an operator can raise limits.{setting}_per_tenant."))
        .member("tenant_id", tenant)
        .member("limit", format!("{setting}_per_tenant"))
        .member("current", own)
        .member("maximum", most)
}

fn of_all(reached: &CapReached, words: &Words) -> ApiError {
    let Words { things, setting, remedy, .. } = words;
    let CapReached { own, all, total, tenant, .. } = reached;
    let text = match tenant {
        Some(tenant) => format!(
            "There are {all} {things}, of which tenant '{tenant}' has {own}. The rest of \
             limits.{setting} ({total}) is kept for tenants that have none, for tenants that are \
             configured, and for operators."
        ),
        None => format!("There are {all} {things} already, which is the limit."),
    };
    let error = match reached.capped {
        Capped::Workers | Capped::Schedules | Capped::ScheduleRuns => {
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", text)
        }
        Capped::WaitingFetches | Capped::WaitingEnqueues | Capped::EventStreams => {
            ApiError::busy(text)
        }
    };
    let error = match tenant {
        Some(tenant) => error.detail("tenant_id", tenant.to_string()).detail("own", *own),
        None => error,
    };
    error
        .hint(format!("{remedy}; an operator can raise limits.{setting}."))
        .detail("limit", *total)
        .detail("current", *all)
}
