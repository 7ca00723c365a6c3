//! The HTTP client.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client as Http, Error as HttpError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::Serialize;

use crate::Error;
use crate::base_url::{BaseUrl, Endpoint};
use crate::forward::Forwarded;
use crate::response::Response;
use crate::retries::{Repeatable, Retries};
use crate::{Credentials, tls_error};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a response; larger than any page of jobs.
const MAX_RESPONSE_BYTES: usize = 512 << 20;
const JSON: HeaderValue = HeaderValue::from_static("application/openjobspec+json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const TENANT: HeaderName = HeaderName::from_static("x-ojs-tenant");
const USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("rota-client/", env!("CARGO_PKG_VERSION")));

/// A client of one server. Cheap to clone; clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: Http<HttpsConnector<HttpConnector>, Full<Bytes>>,
    base: BaseUrl,
    timeout: Duration,
    tenant: Option<HeaderValue>,
    authorization: Option<HeaderValue>,
    retries: Retries,
}

/// Builds a client with non-default timeouts.
#[derive(Debug, Clone)]
pub struct Builder {
    connect_timeout: Duration,
    request_timeout: Duration,
    idle_connections: usize,
    credentials: Credentials,
    retries: Retries,
}

impl Client {
    /// Creates a client for the server at this URL, such as `http://127.0.0.1:8080`, without connecting.
    pub fn new(url: &str) -> Result<Self, Error> {
        Self::builder().build(url)
    }

    /// A builder, to set timeouts and the number of idle connections.
    pub fn builder() -> Builder {
        Builder {
            connect_timeout: CONNECT_TIMEOUT,
            request_timeout: REQUEST_TIMEOUT,
            idle_connections: usize::MAX,
            credentials: Credentials::new(),
            retries: Retries::default(),
        }
    }

    /// Makes requests on behalf of this tenant: they create and see its jobs only.
    pub fn with_tenant(mut self, id: &str) -> Result<Self, Error> {
        let bad = |reason: &str| Error::BadTenant { id: id.to_owned(), reason: reason.to_owned() };
        if id.trim().is_empty() {
            return Err(bad("it is empty"));
        }
        let value = HeaderValue::from_str(id).ok().filter(|value| value.to_str().is_ok());
        self.tenant = Some(value.ok_or_else(|| bad("only visible ASCII characters can be sent"))?);
        Ok(self)
    }

    /// Sends every request once, for callers that repeat requests themselves.
    #[must_use]
    pub fn without_retries(mut self) -> Self {
        self.retries = Retries::none();
        self
    }

    /// The server's address.
    pub fn url(&self) -> String {
        self.base.to_string()
    }

    /// What every request of its own carries, if anything.
    pub(crate) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }

    /// The address of this path and query on the server.
    pub(crate) fn uri(&self, path: &str) -> Result<Uri, Error> {
        self.base.uri(path)
    }

    /// An endpoint of the specification: `/ojs/v1/...`.
    pub(crate) fn endpoint(&self, parts: &[&str]) -> Endpoint {
        self.base.join(["ojs", "v1"].into_iter().chain(parts.iter().copied()))
    }

    /// An endpoint outside of the versioned path.
    pub(crate) fn unversioned_endpoint(&self, parts: &[&str]) -> Endpoint {
        self.base.join(parts.iter().copied())
    }

    pub(crate) async fn get(&self, endpoint: Endpoint) -> Result<Response, Error> {
        self.send(Method::GET, endpoint, None, Duration::ZERO, Repeatable::Yes).await
    }

    pub(crate) async fn delete(&self, endpoint: Endpoint) -> Result<Response, Error> {
        self.send(Method::DELETE, endpoint, None, Duration::ZERO, Repeatable::No).await
    }

    /// A POST without a body.
    pub(crate) async fn post_empty(&self, endpoint: Endpoint) -> Result<Response, Error> {
        self.send(Method::POST, endpoint, None, Duration::ZERO, Repeatable::No).await
    }

    pub(crate) async fn post(
        &self,
        endpoint: Endpoint,
        body: &impl Serialize,
    ) -> Result<Response, Error> {
        self.send_json(Method::POST, endpoint, body, Duration::ZERO).await
    }

    /// `longer` is added to the timeout, for requests that ask the server to wait.
    pub(crate) async fn send_json(
        &self,
        method: Method,
        endpoint: Endpoint,
        body: &impl Serialize,
        longer: Duration,
    ) -> Result<Response, Error> {
        let repeatable = Repeatable::from(&method);
        self.send_repeatable(method, endpoint, body, longer, repeatable).await
    }

    pub(crate) async fn send_repeatable(
        &self,
        method: Method,
        endpoint: Endpoint,
        body: &impl Serialize,
        longer: Duration,
        repeatable: Repeatable,
    ) -> Result<Response, Error> {
        let body = serde_json::to_vec(body).expect("requests are plain data");
        self.send(method, endpoint, Some(body.into()), longer, repeatable).await
    }

    async fn send(
        &self,
        method: Method,
        endpoint: Endpoint,
        body: Option<Bytes>,
        longer: Duration,
        repeatable: Repeatable,
    ) -> Result<Response, Error> {
        let mut sent = 0;
        loop {
            let answer = self.send_once(&method, &endpoint, body.clone(), longer).await;
            sent += 1;
            let wait = {
                let refused = match &answer {
                    Ok(response) if matches!(response.status, 429 | 502..=504) => {
                        Some(response.refusal())
                    }
                    _ => None,
                };
                let error = refused.as_ref().or(answer.as_ref().err());
                error.and_then(|error| self.retries.wait(error, repeatable, sent, fastrand::f64()))
            };
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return answer,
            }
        }
    }

    async fn send_once(
        &self,
        method: &Method,
        endpoint: &Endpoint,
        body: Option<Bytes>,
        longer: Duration,
    ) -> Result<Response, Error> {
        let request = self.request(method.clone(), endpoint, body, JSON)?;
        let longest = self.timeout + longer;
        match tokio::time::timeout(longest, self.exchange(request)).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::Timeout { url: self.url(), seconds: longest.as_secs() }),
        }
    }

    fn request(
        &self,
        method: Method,
        endpoint: &Endpoint,
        body: Option<Bytes>,
        accept: HeaderValue,
    ) -> Result<Request<Full<Bytes>>, Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(endpoint.as_str())
            .header(header::USER_AGENT, USER_AGENT)
            .header(header::ACCEPT, accept);
        if let Some(tenant) = &self.tenant {
            request = request.header(TENANT, tenant);
        }
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, JSON);
        }
        request.body(Full::new(body.unwrap_or_default())).map_err(|cause| Error::BadUrl {
            url: endpoint.as_str().to_owned(),
            reason: cause.to_string(),
        })
    }

    /// Opens a stream of server-sent events. Any answer but success is an error.
    pub(crate) async fn open(&self, endpoint: Endpoint) -> Result<Incoming, Error> {
        let request = self.request(Method::GET, &endpoint, None, EVENTS)?;
        let answer = tokio::time::timeout(self.timeout, self.http.request(request)).await;
        let timeout = |_| Error::Timeout { url: self.url(), seconds: self.timeout.as_secs() };
        let response = answer.map_err(timeout)?.map_err(|error| self.not_sent(&error))?;
        if response.status().is_success() {
            return Ok(response.into_body());
        }
        let response = self.read(response).await?;
        Err(response.refusal())
    }

    /// Sends a request as it is and returns the answer as it comes.
    pub(crate) async fn exchange_raw(
        &self,
        request: Request<Full<Bytes>>,
        longer: Duration,
    ) -> Result<Forwarded, Error> {
        let longest = self.timeout + longer;
        let exchange = async {
            let response =
                self.http.request(request).await.map_err(|error| self.not_sent(&error))?;
            let (head, body) = response.into_parts();
            let body = self.read_body(head.status, body).await?;
            Ok(Forwarded { status: head.status.as_u16(), headers: head.headers, body })
        };
        match tokio::time::timeout(longest, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(Error::Timeout { url: self.url(), seconds: longest.as_secs() }),
        }
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Response, Error> {
        let response = self.http.request(request).await.map_err(|error| self.not_sent(&error))?;
        self.read(response).await
    }

    async fn read(&self, response: http::Response<Incoming>) -> Result<Response, Error> {
        let (head, body) = response.into_parts();
        let body = self.read_body(head.status, body).await?;
        let retry_after = head.headers.get(header::RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok()?.parse().ok());
        let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
        Ok(Response {
            url: self.url(),
            status: head.status.as_u16(),
            content_type: text(header::CONTENT_TYPE).map(str::to_owned),
            retry_after,
            date: text(header::DATE).map(str::to_owned),
            body,
        })
    }

    async fn read_body(&self, status: StatusCode, body: Incoming) -> Result<Bytes, Error> {
        let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await.map_err(|cause| {
            if cause.is::<LengthLimitError>() {
                return self.not_ojs(Some(status), "its answer is far too long");
            }
            match tls_error::reason(&*cause) {
                Some(reason) => Error::Tls { url: self.url(), reason },
                None => Error::Interrupted { url: self.url(), cause: root(&*cause) },
            }
        })?;
        Ok(body.to_bytes())
    }

    fn not_sent(&self, error: &HttpError) -> Error {
        if let Some(reason) = tls_error::reason(error) {
            return Error::Tls { url: self.url(), reason };
        }
        let cause = root(error);
        if error.is_connect() {
            return Error::Unreachable { url: self.url(), cause };
        }
        if is_not_http(error) {
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
    /// Timeout for connecting; 5 s by default.
    pub fn connect_timeout(mut self, longest: Duration) -> Self {
        self.connect_timeout = longest;
        self
    }

    /// Timeout for a whole request; 30 s by default. For a fetch, its waiting time is added.
    pub fn request_timeout(mut self, longest: Duration) -> Self {
        self.request_timeout = longest;
        self
    }

    /// Maximum number of idle connections to keep; unlimited by default.
    pub fn idle_connections(mut self, most: usize) -> Self {
        self.idle_connections = most;
        self
    }

    /// What the server is shown, and whom it has to be known to; nothing and this system's authorities by
    /// default.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// How often and how soon failed requests are sent again.
    pub fn retries(mut self, retries: Retries) -> Self {
        self.retries = retries;
        self
    }

    /// Checks the URL, reads the files of the credentials and creates the client, without connecting.
    pub fn build(self, url: &str) -> Result<Client, Error> {
        let base = BaseUrl::parse(url)?;
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(self.connect_timeout));
        connector.set_nodelay(true);
        connector.enforce_http(false);
        // Reading the authorities of this system takes a while, and plain HTTP does not need them.
        let tls = match base.is_encrypted() {
            true => self.credentials.tls()?,
            false => Credentials::without_tls()?,
        };
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let http = Http::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(self.idle_connections)
            .build(connector);
        let authorization = self.credentials.authorization().cloned();
        let (timeout, retries) = (self.request_timeout, self.retries);
        Ok(Client { http, base, timeout, tenant: None, authorization, retries })
    }
}

/// The message of the innermost error, which is the most specific: "connection refused" instead of
/// "client error".
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

fn is_not_http(error: &HttpError) -> bool {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
            return true;
        }
        next = error.source();
    }
    false
}
