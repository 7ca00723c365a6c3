//! What every request has: an id, a version, a body that is complete, and a line in the log.

use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::http::header::EXPECT;
use axum::http::{HeaderValue, Request, Response};
use axum::response::IntoResponse;
use axum::{BoxError, Router};
use bytes::Bytes;
use rota_model::JobId;
use tower::Service;
use tracing::Instrument;

use super::error::ApiError;
use super::{App, body, caller, express};

const LONGEST_ID: usize = 128;
const VERSIONS: [&str; 3] = ["1.0", "1", "1.0.0"];

tokio::task_local! {
    static REQUEST_ID: HeaderValue;
}

/// The id of the request that is being served.
pub(super) fn request_id() -> String {
    REQUEST_ID.try_with(|id| id.to_str().unwrap_or_default().to_owned()).unwrap_or_default()
}

/// A body that [`Entrance::serve`] can read.
pub trait RequestBody: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static {}

impl<B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static> RequestBody for B {}

/// Where requests come in. Not a layer of the router, which would cost an allocation or two more for
/// each request.
#[derive(Clone)]
pub struct Entrance {
    app: Arc<App>,
    router: Router,
}

impl Entrance {
    pub(super) fn new(app: Arc<App>, router: Router) -> Self {
        Self { app, router }
    }

    /// Answers one request, from a connection or made in this process.
    pub async fn serve<B: RequestBody>(self, request: Request<B>) -> Response<Body> {
        let id = id_of(&request);
        let span = tracing::debug_span!(
            "request",
            id = id.to_str().unwrap_or_default(),
            method = %request.method(),
            path = request.uri().path(),
        );
        let mut response =
            REQUEST_ID.scope(id.clone(), self.answer(request)).instrument(span).await;
        let headers = response.headers_mut();
        headers.insert("ojs-version", HeaderValue::from_static("1.0"));
        headers.insert("x-request-id", id);
        response
    }

    async fn answer<B: RequestBody>(self, request: Request<B>) -> Response<Body> {
        if let Some(error) = refusal_of(&request) {
            return error.into_response();
        }
        let tenant = match caller::tenant_of(request.headers(), request.uri().path(), &self.app) {
            Ok(tenant) => tenant,
            Err(error) => {
                // What is left of the body would end the connection, and the next request with it.
                if !request.headers().contains_key(EXPECT) {
                    let _ = body::read(request.into_body(), &self.app.settings).await;
                }
                return error.into_response();
            }
        };
        caller::on_behalf_of(tenant, self.hand_on(request)).await
    }

    async fn hand_on<B: RequestBody>(self, request: Request<B>) -> Response<Body> {
        let (head, body) = request.into_parts();
        // This client sends its body only to who wants it.
        if head.headers.contains_key(EXPECT) {
            return self.route(Request::from_parts(head, Body::new(body))).await;
        }
        // All of it, whether it is wanted or not: what is left of it when the answer goes out would
        // end the connection.
        let body = match body::read(body, &self.app.settings).await {
            Ok(body) => body,
            Err(error) => return error.into_response(),
        };
        let response = match express::lane(&head) {
            Some(lane) => lane.take(self.app, &head, body).await,
            None => self.route(Request::from_parts(head, Body::from(body))).await,
        };
        tracing::debug!(status = response.status().as_u16(), "answered");
        response
    }

    async fn route(mut self, request: Request<Body>) -> Response<Body> {
        self.router.call(request).await.unwrap_or_else(|never| match never {})
    }
}

/// Headers that ask for something which is not served.
fn refusal_of<B>(request: &Request<B>) -> Option<ApiError> {
    let headers = request.headers();
    if let Some(version) = headers.get("ojs-version")
        && !version.to_str().is_ok_and(|version| VERSIONS.contains(&version.trim()))
    {
        return Some(ApiError::unsupported("This server speaks OJS-Version 1.0."));
    }
    None
}

/// The client's own id, if it is fit to be logged and sent back.
fn id_of<B>(request: &Request<B>) -> HeaderValue {
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
