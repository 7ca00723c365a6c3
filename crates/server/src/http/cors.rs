//! Cross-origin requests (CORS): which web pages a browser lets talk to this server.

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use axum::response::IntoResponse;
use rota_settings::Origins;

use super::error::ApiError;

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
/// The headers of answers that a page may read, besides those that it always may.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "OJS-Version, X-Request-Id, Location, Retry-After, X-OJS-Queue-Depth, X-OJS-Queue-Bound, \
     X-OJS-Queue-Pressure, X-OJS-Quota-Exceeded, X-RateLimit-Limit, X-RateLimit-Remaining, \
     X-RateLimit-Reset",
);
/// How long a browser may remember the answer to a preflight, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The answer to a preflight, by which a browser asks whether a page may send a request; `None` for all
/// other requests.
pub(super) fn preflight<B>(request: &Request<B>, origins: &Origins) -> Option<Response<Body>> {
    let headers = request.headers();
    let origin = headers.get(ORIGIN)?;
    if request.method() != Method::OPTIONS || !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    if !allows(origins, origin) {
        return Some(refused(origin).into_response());
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let answer = response.headers_mut();
    answer.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    answer.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    if let Some(asked) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    Some(response)
}

/// Adds the headers that let a page of an allowed origin read the answer.
pub(super) fn add_headers(answer: &mut HeaderMap, origin: Option<&HeaderValue>, origins: &Origins) {
    let exact = match origins {
        Origins::None => return,
        Origins::Any => false,
        Origins::Only(_) => true,
    };
    if exact {
        // A cache must not give one origin's answer to another.
        answer.append(VARY, HeaderValue::from_static("Origin"));
    }
    let Some(origin) = origin.filter(|origin| allows(origins, origin)) else { return };
    if exact {
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        answer.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    } else {
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
    answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}

fn allows(origins: &Origins, origin: &HeaderValue) -> bool {
    origin.to_str().is_ok_and(|origin| origins.allow(origin))
}

fn refused(origin: &HeaderValue) -> ApiError {
    let origin = String::from_utf8_lossy(origin.as_bytes());
    let text = format!("Pages from '{origin}' may not send requests to this server.");
    ApiError::new(StatusCode::FORBIDDEN, "forbidden", text)
        .hint("The setting http.cors_origins lists the origins that may.")
        .detail("origin", origin.into_owned())
}
