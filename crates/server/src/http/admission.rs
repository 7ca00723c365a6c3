//! Headers of enqueue requests and answers: the wait for room, queue pressure, quotas and rate limits.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response};
use rota_engine::Admission;

use super::error::ApiError;
use super::listen::is_kept_back;

/// The longest that an enqueue may wait for room, in seconds.
const MAX_WAIT_SECONDS: u64 = 300;

/// How long the enqueue may wait for room, in milliseconds: the header `OJS-Block-Timeout`, or 0 on a
/// connection that must not wait.
pub(super) fn block_timeout_ms(headers: &HeaderMap) -> Result<u64, ApiError> {
    let Some(value) = headers.get("ojs-block-timeout") else { return Ok(0) };
    let seconds = value.to_str().ok().and_then(|text| text.trim().parse::<f64>().ok());
    match seconds {
        Some(seconds) if (0.0..=MAX_WAIT_SECONDS as f64).contains(&seconds) => match is_kept_back()
        {
            true => Ok(0),
            false => Ok((seconds * 1_000.0) as u64),
        },
        _ => Err(ApiError::invalid_request(format!(
            "The header OJS-Block-Timeout must be a number of seconds from 0 to {MAX_WAIT_SECONDS}."
        ))
        .detail("field", "OJS-Block-Timeout")),
    }
}

/// Adds headers by which a producer can slow down before it is refused.
pub(super) fn add_headers(mut response: Response<Body>, admission: &Admission) -> Response<Body> {
    let headers = response.headers_mut();
    if let Some(pressure) = &admission.pressure {
        headers.insert("x-ojs-queue-depth", HeaderValue::from(pressure.depth));
        if pressure.bound > 0 {
            headers.insert("x-ojs-queue-bound", HeaderValue::from(pressure.bound));
        }
        let ratio = format!("{:.2}", pressure.ratio.min(1.0));
        headers.insert("x-ojs-queue-pressure", text(&ratio));
    }
    if !admission.over_quota.is_empty() {
        headers.insert("x-ojs-quota-exceeded", text(&admission.over_quota.join(", ")));
    }
    if let Some(limit) = admission.limit {
        headers.insert("x-ratelimit-limit", HeaderValue::from(limit.limit));
        headers.insert("x-ratelimit-remaining", HeaderValue::from(limit.remaining));
        let resets = limit.resets.0.div_euclid(1_000).max(0) as u64;
        headers.insert("x-ratelimit-reset", HeaderValue::from(resets));
    }
    response
}

/// Writes `quota_exceeded`, the quotas that were exceeded and only warn.
pub(super) fn write_over_quota(out: &mut Vec<u8>, admission: &Admission) {
    if !admission.over_quota.is_empty() {
        let names = serde_json::to_string(&admission.over_quota).expect("names are plain data");
        out.extend_from_slice(format!(",\"quota_exceeded\":{names}").as_bytes());
    }
}

fn text(value: &str) -> HeaderValue {
    HeaderValue::from_str(value).expect("numbers and names of limits are ASCII")
}
