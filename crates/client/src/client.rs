use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client as Http, Error as HttpError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::Serialize;

use crate::Error;
use crate::answer::Answer;
use crate::base_url::{BaseUrl, Endpoint};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Longer than any page of jobs may be.
const LONGEST_ANSWER: usize = 512 << 20;
const JSON: HeaderValue = HeaderValue::from_static("application/openjobspec+json");
const TENANT: HeaderName = HeaderName::from_static("x-ojs-tenant");
const USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("rota-client/", env!("CARGO_PKG_VERSION")));

/// A client of one server. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: Http<HttpConnector, Full<Bytes>>,
    base: BaseUrl,
    timeout: Duration,
    tenant: Option<HeaderValue>,
}

/// Settings of a client that are seldom needed.
#[derive(Debug, Clone)]
pub struct Builder {
    connect_timeout: Duration,
    request_timeout: Duration,
    idle_connections: usize,
}

impl Client {
    /// A client for the server at this address, such as `http://127.0.0.1:8080`. Nothing is sent yet.
    pub fn new(url: &str) -> Result<Self, Error> {
        Self::builder().build(url)
    }

    /// For a client that needs more than an address: a tenant, a timeout.
    pub fn builder() -> Builder {
        Builder {
            connect_timeout: CONNECT_TIMEOUT,
            request_timeout: REQUEST_TIMEOUT,
            idle_connections: usize::MAX,
        }
    }

    /// The same client for one tenant: what it enqueues is this tenant's, and it sees nobody else's.
    pub fn with_tenant(mut self, id: &str) -> Result<Self, Error> {
        let bad = |reason: &str| Error::BadTenant { id: id.to_owned(), reason: reason.to_owned() };
        if id.trim().is_empty() {
            return Err(bad("it is empty"));
        }
        let value = HeaderValue::from_str(id).ok().filter(|value| value.to_str().is_ok());
        self.tenant = Some(value.ok_or_else(|| bad("only visible ASCII characters can be sent"))?);
        Ok(self)
    }

    /// The server's address.
    pub fn url(&self) -> String {
        self.base.to_string()
    }

    /// An endpoint of the specification: `/ojs/v1/...`.
    pub(crate) fn at(&self, parts: &[&str]) -> Endpoint {
        self.base.join(["ojs", "v1"].into_iter().chain(parts.iter().copied()))
    }

    /// An endpoint outside of the versioned path.
    pub(crate) fn outside(&self, parts: &[&str]) -> Endpoint {
        self.base.join(parts.iter().copied())
    }

    pub(crate) async fn get(&self, endpoint: Endpoint) -> Result<Answer, Error> {
        self.send(Method::GET, endpoint, None, Duration::ZERO).await
    }

    pub(crate) async fn delete(&self, endpoint: Endpoint) -> Result<Answer, Error> {
        self.send(Method::DELETE, endpoint, None, Duration::ZERO).await
    }

    /// A POST without a body.
    pub(crate) async fn tell(&self, endpoint: Endpoint) -> Result<Answer, Error> {
        self.send(Method::POST, endpoint, None, Duration::ZERO).await
    }

    pub(crate) async fn post(
        &self,
        endpoint: Endpoint,
        body: &impl Serialize,
    ) -> Result<Answer, Error> {
        self.send_json(Method::POST, endpoint, body, Duration::ZERO).await
    }

    /// `longer` is added to the timeout: the server was asked to wait.
    pub(crate) async fn send_json(
        &self,
        method: Method,
        endpoint: Endpoint,
        body: &impl Serialize,
        longer: Duration,
    ) -> Result<Answer, Error> {
        let body = serde_json::to_vec(body).expect("requests are plain data");
        self.send(method, endpoint, Some(body.into()), longer).await
    }

    async fn send(
        &self,
        method: Method,
        endpoint: Endpoint,
        body: Option<Bytes>,
        longer: Duration,
    ) -> Result<Answer, Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(endpoint.as_str())
            .header(header::USER_AGENT, USER_AGENT)
            .header(header::ACCEPT, JSON);
        if let Some(tenant) = &self.tenant {
            request = request.header(TENANT, tenant);
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, JSON);
        }
        let request = request.body(Full::new(body.unwrap_or_default())).map_err(|cause| {
            Error::BadUrl { url: endpoint.as_str().to_owned(), reason: cause.to_string() }
        })?;
        let longest = self.timeout + longer;
        match tokio::time::timeout(longest, self.exchange(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::Timeout { url: self.url(), seconds: longest.as_secs() }),
        }
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Answer, Error> {
        let response = self.http.request(request).await.map_err(|error| self.not_sent(&error))?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, LONGEST_ANSWER).collect().await.map_err(|cause| {
            if cause.is::<LengthLimitError>() {
                return self.not_ojs(Some(head.status), "its answer is far too long");
            }
            Error::Interrupted { url: self.url(), cause: root(&*cause) }
        })?;
        let retry_after = head.headers.get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
        Ok(Answer {
            url: self.url(),
            status: head.status.as_u16(),
            content_type: text(header::CONTENT_TYPE).map(str::to_owned),
            retry_after,
            date: text(header::DATE).map(str::to_owned),
            body: body.to_bytes(),
        })
    }

    fn not_sent(&self, error: &HttpError) -> Error {
        let cause = root(error);
        if error.is_connect() {
            return Error::Unreachable { url: self.url(), cause };
        }
        if speaks_no_http(error) {
            return self.not_ojs(None, "what it sends is not HTTP");
        }
        Error::Interrupted { url: self.url(), cause }
    }

    fn not_ojs(&self, status: Option<StatusCode>, reason: &str) -> Error {
        let status = status.map(|status| status.as_u16());
        Error::NotOjs { url: self.url(), status, reason: reason.to_owned() }
    }
}

impl Builder {
    /// How long connecting may take; 5 s unless told.
    pub fn connect_timeout(mut self, longest: Duration) -> Self {
        self.connect_timeout = longest;
        self
    }

    /// How long a request may take in all; 30 s unless told. A fetch may take its waiting time more.
    pub fn request_timeout(mut self, longest: Duration) -> Self {
        self.request_timeout = longest;
        self
    }

    /// How many idle connections are kept for the next requests; all of them unless told.
    pub fn idle_connections(mut self, most: usize) -> Self {
        self.idle_connections = most;
        self
    }

    /// Checks the address and makes the client. Connects to nothing yet.
    pub fn build(self, url: &str) -> Result<Client, Error> {
        let base = BaseUrl::parse(url)?;
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(self.connect_timeout));
        connector.set_nodelay(true);
        let http = Http::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(self.idle_connections)
            .build(connector);
        Ok(Client { http, base, timeout: self.request_timeout, tenant: None })
    }
}

/// The innermost cause says most: "connection refused", not "client error".
fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    match innermost.downcast_ref::<std::io::Error>() {
        Some(error) if error.raw_os_error().is_some() => error.kind().to_string(),
        _ => innermost.to_string(),
    }
}

fn speaks_no_http(error: &HttpError) -> bool {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
            return true;
        }
        next = error.source();
    }
    false
}
