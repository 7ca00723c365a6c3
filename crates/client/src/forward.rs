//! Requests of others, passed on as they are.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use http_body_util::Full;

use crate::response::Response;
use crate::{Client, Error};

/// A request that is passed on for somebody else. Nothing of this client's own is added to it: no token, no tenant.
#[derive(Debug, Clone)]
pub struct Forward {
    /// Its method.
    pub method: Method,
    /// Path and query, such as `/ojs/v1/queues?limit=10`.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// Added to the timeout, for requests that ask the server to wait.
    pub longer: Duration,
}

/// An answer, as it came.
#[derive(Debug, Clone)]
pub struct Forwarded {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Forwarded {
    /// Whether the request succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// What the answer means as an error.
    pub(crate) fn error(&self, url: String) -> Error {
        let response = Response {
            url,
            status: self.status,
            content_type: None,
            retry_after: None,
            date: None,
            body: self.body.clone(),
        };
        response.refusal()
    }
}

impl Client {
    /// Passes a request on, once, and returns the answer whatever its status is.
    pub async fn forward(&self, forward: Forward) -> Result<Forwarded, Error> {
        let Forward { method, path, headers, body, longer } = forward;
        let mut request = Request::new(Full::new(body));
        *request.uri_mut() = self.uri(&path)?;
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        self.exchange_raw(request, longer).await
    }
}
