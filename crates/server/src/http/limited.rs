//! Refuses requests of callers that have reached their limit on requests.

use axum::http::{Request, StatusCode};
use rota_model::RequestRate;

use super::error::ApiError;
use super::fast_path::FastRoute;
use super::{App, Caller, acts, route_table};
use crate::request_limits::OverLimit;

/// Counts a request against the limit of its caller. Operators, and requests that need no permission, have
/// none.
pub(super) fn check<B>(
    caller: &Caller,
    fast: Option<FastRoute>,
    request: &Request<B>,
    app: &App,
) -> Result<(), ApiError> {
    if !app.request_limits.is_active() || caller.has_server_permission() {
        return Ok(());
    }
    let Some(tenant) = caller.tenant() else { return Ok(()) };
    let permission = match fast {
        Some(route) => Some(route.permission()),
        None => {
            route_table::permission(request.method(), acts::matched(request.uri().path()).route)
        }
    };
    // It needs none, or is for no route.
    let Some(permission) = permission else { return Ok(()) };
    let subject = caller.identity().map(|identity| &identity.subject);
    let now = app.clock().now();
    let Err(OverLimit { rate, retry_ms }) =
        app.request_limits.take(permission, tenant, subject, now.mono)
    else {
        return Ok(());
    };
    let RequestRate { per_minute, burst } = rate;
    let name = permission.name();
    let seconds = retry_ms.div_ceil(1_000);
    let reset = (now.wall.0.max(0) as u64).saturating_add(retry_ms).div_ceil(1_000);
    let text = format!(
        "The limit on requests with the scope '{name}' is reached: {per_minute} per minute, {burst} at once."
    );
    Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", text)
        .hint("Try again after the time in Retry-After, and send many jobs in one batch.")
        .retry_after(seconds)
        .header("x-ratelimit-limit", u64::from(per_minute))
        .header("x-ratelimit-remaining", 0)
        .header("x-ratelimit-reset", reset)
        .detail("limit", format!("request_limits.{name}"))
        .detail("scope", name)
        .detail("tenant_id", tenant.to_string())
        .detail("per_minute", per_minute)
        .detail("burst", burst)
        .detail("retry_after_ms", retry_ms))
}
