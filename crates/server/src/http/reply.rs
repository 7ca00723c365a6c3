//! Builds JSON answers in the media type of the specification.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode};
use serde::Serialize;

pub(super) const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/openjobspec+json");

/// An answer with JSON that is already serialized.
pub(super) fn raw(status: StatusCode, json: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(json));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, MEDIA_TYPE);
    response
}

pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    raw(status, serde_json::to_vec(value).expect("answers are plain data"))
}

pub(super) fn ok(value: &impl Serialize) -> Response<Body> {
    json(StatusCode::OK, value)
}

/// An answer without a body.
pub(super) fn no_content() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
