//! What of a request is passed on to a region.

use std::time::Duration;

use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method};
use bytes::Bytes;
use rota_client::Forward;

const TENANT: HeaderName = HeaderName::from_static("x-ojs-tenant");
/// Headers that regions get as the client sent them: who it is, what it sends and what it wants.
const PASSED: [HeaderName; 10] = [
    AUTHORIZATION,
    TENANT,
    HeaderName::from_static("x-tenant-id"),
    ACCEPT,
    CONTENT_TYPE,
    USER_AGENT,
    HeaderName::from_static("ojs-version"),
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
];

/// A request of a client, read whole.
pub(crate) struct ClientRequest {
    pub method: Method,
    pub path: String,
    pub query: Option<String>,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl ClientRequest {
    pub fn new(head: &Parts, body: Bytes) -> Self {
        let mut headers = HeaderMap::new();
        for name in PASSED {
            if let Some(value) = head.headers.get(&name) {
                headers.insert(name, value.clone());
            }
        }
        Self {
            method: head.method.clone(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().map(str::to_owned),
            headers,
            body,
        }
    }

    /// The tenant that the client names.
    pub fn tenant(&self) -> Option<&str> {
        self.headers.get(TENANT)?.to_str().ok()
    }

    /// The request as it is.
    pub fn forward(&self) -> Forward {
        let query = self.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        self.with(format!("{}{query}", self.path), self.body.clone())
    }

    /// The request with another path or body.
    pub fn with(&self, path: String, body: Bytes) -> Forward {
        Forward {
            method: self.method.clone(),
            path,
            headers: self.headers.clone(),
            body,
            longer: Duration::ZERO,
        }
    }
}
