//! What of a request is passed on to a region.

use std::net::IpAddr;
use std::time::Duration;

use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use bytes::Bytes;
use rota_client::Forward;

/// The region of an answer. Clients may send it back with requests about the same job.
pub(crate) const REGION: HeaderName = HeaderName::from_static("x-ojs-region");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const OTHER_TENANT: HeaderName = HeaderName::from_static("x-tenant-id");
const TENANT: HeaderName = HeaderName::from_static("x-ojs-tenant");
/// Headers that regions get as the client sent them: who it is, what it sends and what it wants.
const PASSED: [HeaderName; 10] = [
    AUTHORIZATION,
    TENANT,
    OTHER_TENANT,
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
    /// The region that the client was told when it got the job.
    pub hint: Option<String>,
}

impl ClientRequest {
    pub fn new(head: &Parts, body: Bytes, address: IpAddr) -> Self {
        let mut headers = HeaderMap::new();
        for name in PASSED {
            // A header that is there twice stays so: the region says what is wrong with it.
            for value in head.headers.get_all(&name) {
                headers.append(name.clone(), value.clone());
            }
        }
        // The last address is the one that the gateway has seen itself.
        for value in head.headers.get_all(FORWARDED_FOR) {
            headers.append(FORWARDED_FOR, value.clone());
        }
        if let Ok(address) = HeaderValue::from_str(&address.to_string()) {
            headers.append(FORWARDED_FOR, address);
        }
        Self {
            method: head.method.clone(),
            path: head.uri.path().to_owned(),
            query: head.uri.query().map(str::to_owned),
            headers,
            body,
            hint: head.headers.get(REGION).and_then(|id| id.to_str().ok()).map(str::to_owned),
        }
    }

    /// The body as text.
    pub fn text(&self) -> Result<&str, std::str::Utf8Error> {
        std::str::from_utf8(&self.body)
    }

    /// The tenant that the client names.
    pub fn tenant(&self) -> Option<&str> {
        self.headers.get(TENANT).or_else(|| self.headers.get(OTHER_TENANT))?.to_str().ok()
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
