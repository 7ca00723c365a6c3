//! Answers of the gateway, and answers of regions passed back.

use axum::body::Body;
use axum::http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use rota_client::Forwarded;
use rota_client::federation::{FederationError, NoRoute, Passed};
use rota_server::http::ApiError;
use serde_json::Value;

use crate::caller::REGION;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/openjobspec+json");

/// A region's answer, passed back with the region's name.
pub(crate) fn pass_back(passed: Passed) -> Response<Body> {
    let mut response = forwarded(passed.answer);
    if let Ok(region) = HeaderValue::from_str(&passed.region) {
        response.headers_mut().insert(REGION, region);
    }
    response
}

fn forwarded(answer: Forwarded) -> Response<Body> {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = status;
    *response.headers_mut() = answer.headers;
    // These are about the connection between the gateway and the region.
    for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        response.headers_mut().remove(name);
    }
    response
}

pub(crate) fn json(status: StatusCode, value: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// The answer to a request that no region has answered.
pub(crate) fn failure(error: &FederationError) -> Response<Body> {
    let text = error.to_string();
    let problem = match error {
        FederationError::Wish(_) => {
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", text)
        }
        FederationError::Job(_) | FederationError::MixedBatch => ApiError::invalid_request(text),
        FederationError::NoRoute(NoRoute::UnknownRegion { id }) => {
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_region", text)
                .detail("region", id.clone())
        }
        FederationError::NoRoute(NoRoute::NoTags { .. }) => {
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "no_region_with_tags", text)
        }
        FederationError::NoRoute(_)
        | FederationError::NotTaken { .. }
        | FederationError::CircuitOpen { .. } => {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            ApiError::new(status, "region_unavailable", text).retry_after(1)
        }
        FederationError::Ambiguous { region, id, .. } => {
            ApiError::new(StatusCode::GATEWAY_TIMEOUT, "outcome_unknown", text)
                .detail("region", region.clone())
                .detail("job_id", id.clone())
        }
        FederationError::Unknown { id, regions } => {
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "region_unknown", text)
                .detail("job_id", id.clone())
                .detail("regions_not_asked", regions.clone())
                .retry_after(1)
        }
        FederationError::Region { region, .. } => {
            ApiError::new(StatusCode::BAD_GATEWAY, "region_unavailable", text)
                .detail("region", region.clone())
        }
    };
    let hint = error.hint().unwrap_or_else(|| "See docs/federation.md.".to_owned());
    problem.hint(hint).into_response()
}
