//! What every request has: an id, a version, and a line in the log.

use std::future::Future;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Response};
use axum::middleware::Next;
use axum::response::IntoResponse;
use rota_model::JobId;
use tracing::Instrument;

use super::error::ApiError;

const LONGEST_ID: usize = 128;
const VERSIONS: [&str; 3] = ["1.0", "1", "1.0.0"];

tokio::task_local! {
    static REQUEST_ID: HeaderValue;
}

/// The id of the request that is being served.
pub(super) fn request_id() -> String {
    REQUEST_ID.try_with(|id| id.to_str().unwrap_or_default().to_owned()).unwrap_or_default()
}

pub(super) async fn apply(request: Request, next: Next) -> Response<Body> {
    let id = id_of(&request);
    let span = tracing::info_span!(
        "request",
        id = id.to_str().unwrap_or_default(),
        method = %request.method(),
        path = request.uri().path(),
    );
    let mut response = REQUEST_ID.scope(id.clone(), answer(request, next)).instrument(span).await;
    let headers = response.headers_mut();
    headers.insert("ojs-version", HeaderValue::from_static("1.0"));
    headers.insert("x-request-id", id);
    response
}

fn answer(request: Request, next: Next) -> impl Future<Output = Response<Body>> {
    let refusal = refusal_of(&request);
    async move {
        match refusal {
            Some(error) => error.into_response(),
            None => {
                let response = next.run(request).await;
                tracing::debug!(status = response.status().as_u16(), "answered");
                response
            }
        }
    }
}

/// Headers that ask for something which is not served.
fn refusal_of(request: &Request) -> Option<ApiError> {
    let headers = request.headers();
    if let Some(version) = headers.get("ojs-version")
        && !version.to_str().is_ok_and(|version| VERSIONS.contains(&version.trim()))
    {
        return Some(ApiError::unsupported("This server speaks OJS-Version 1.0."));
    }
    for name in ["x-ojs-tenant", "x-ojs-tenant-id"] {
        if headers.contains_key(name) {
            return Some(ApiError::unsupported(
                "The tenant header asks for tenant isolation, which this server does not serve yet.",
            ));
        }
    }
    None
}

/// The client's own id, if it is fit to be logged and sent back.
fn id_of(request: &Request) -> HeaderValue {
    let given = request.headers().get("x-request-id");
    let fit = |id: &&HeaderValue| {
        let bytes = id.as_bytes();
        !bytes.is_empty() && bytes.len() <= LONGEST_ID && bytes.iter().all(u8::is_ascii_graphic)
    };
    given.filter(fit).cloned().unwrap_or_else(fresh_id)
}

fn fresh_id() -> HeaderValue {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let ms = now.map_or(0, |since| since.as_millis() as i64);
    let mut text = Vec::with_capacity(40);
    text.extend_from_slice(b"req_");
    JobId::v7(ms, fastrand::u128(..)).write(&mut text);
    HeaderValue::from_bytes(&text).expect("an id is ASCII")
}
