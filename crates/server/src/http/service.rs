//! The entry point of all requests: request id, version check, caller, body and routing.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::{Body, HttpBody};
use axum::http::header::{EXPECT, ORIGIN};
use axum::http::{HeaderValue, Request, Response};
use axum::response::IntoResponse;
use axum::{BoxError, Router};
use bytes::Bytes;
use hyper::body::Incoming;
use rota_model::JobId;
use rota_settings::Settings;
use tower::Service;
use tracing::Instrument;

use super::access::is_public;
use super::audited::Audited;
use super::client_address::client_address;
use super::error::ApiError;
use super::incoming_bodies::Reserved;
use super::listen::{Peer, Serve, serve_for};
use super::unread_body::{WatchedBody, announce_close};
use super::{Access, App, Caller, body, cors, fast_path, limited, quirks, spec_version};
use crate::audit::Act;
use crate::runtime::Source;

/// The longest request id that is taken over from a client, in bytes.
const MAX_ID_BYTES: usize = 128;

/// A body that costs less than closing the connection, in bytes.
const SHORT_BODY: u64 = 16 * 1024;

tokio::task_local! {
    static REQUEST_ID: HeaderValue;
}

/// The id of the current request.
pub(super) fn request_id() -> String {
    REQUEST_ID.try_with(|id| id.to_str().unwrap_or_default().to_owned()).unwrap_or_default()
}

/// A body that [`HttpService::answer_request`] can read.
pub trait RequestBody: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static {}

impl<B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static> RequestBody for B {}

/// Serves requests. Not a layer of the router, which would cost an allocation or two more per request.
#[derive(Clone)]
pub struct HttpService {
    app: Arc<App>,
    router: Router,
}

impl Serve for HttpService {
    fn serve(
        self,
        peer: Arc<Peer>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Body>> + Send {
        self.answer_request(peer, request)
    }

    /// Whether an address may try a TLS handshake: not if many of its own have just failed.
    fn may_shake_hands(&self, address: IpAddr) -> bool {
        self.app.handshakes.may_try(address)
    }

    /// Counts a TLS handshake that has failed, and notes it in the audit log.
    fn note_failed_handshake(&self, address: IpAddr) {
        self.app.handshakes.count(address);
        self.app.audit.handshake_failed(address, self.app.now());
    }
}

impl HttpService {
    pub(super) fn new(app: Arc<App>, router: Router) -> Self {
        Self { app, router }
    }

    /// Answers one request, from a connection or made in this process.
    pub async fn answer_request<B: RequestBody>(
        self,
        peer: Arc<Peer>,
        request: Request<B>,
    ) -> Response<Body> {
        let id = request_id_for(&request);
        let http = &self.app.settings.http;
        let span = tracing::debug_span!(
            "request",
            id = id.to_str().unwrap_or_default(),
            client = %client_address(peer.address.ip(), request.headers(), http),
            method = %request.method(),
            path = request.uri().path(),
        );
        let (app, origin) = (self.app.clone(), request.headers().get(ORIGIN).cloned());
        let quirk = quirks::of(request.headers());
        let mut response =
            REQUEST_ID.scope(id.clone(), self.answer(&peer, request)).instrument(span).await;
        if let Some(quirk) = quirk {
            quirk.apply(&mut response);
        }
        let headers = response.headers_mut();
        cors::add_headers(headers, origin.as_ref(), &app.settings.http.cors_origins);
        headers.insert("ojs-version", HeaderValue::from_static("1.0"));
        headers.insert("x-request-id", id);
        response
    }

    async fn answer<B: RequestBody>(self, peer: &Peer, request: Request<B>) -> Response<Body> {
        if let Err(error) = peer.check_path(request.uri().path(), &self.app.settings.http) {
            return announce_close(self.refuse(error, request).await);
        }
        if let Some(answer) = cors::preflight(&request, &self.app.settings.http.cors_origins) {
            return answer;
        }
        if let Err(error) = spec_version::check(&request) {
            return self.refuse(error, request).await;
        }
        let address = client_address(peer.address.ip(), request.headers(), &self.app.settings.http);
        let fast = fast_path::route(request.method(), request.uri());
        let mut audited = match fast {
            Some(route) => Audited::ordinary(route, address),
            None => Audited::new(request.method(), request.uri(), address),
        };
        let app = self.app.clone();
        let (headers, path) = (request.headers(), request.uri().path());
        let certificate = peer.certificate.as_deref();
        let response = match Caller::of_request(headers, certificate, path, &self.app).await {
            Ok(caller) => {
                serve_for(&Source::of(caller.tenant())).await;
                match limited::check(&caller, fast, &request, &app) {
                    Ok(()) => {
                        let act = audited.begin(&caller, &app);
                        self.admit(request, caller, act).await
                    }
                    Err(error) => self.refuse_cheaply(error, request).await,
                }
            }
            Err(error) => {
                audited.denied(&error);
                self.refuse(error, request).await
            }
        };
        audited.end(response.status().as_u16(), &app);
        response
    }

    /// Handles a request, unless too many of the caller's are being handled. Probes are always admitted.
    async fn admit<B: RequestBody>(
        self,
        request: Request<B>,
        caller: Caller,
        act: Option<Arc<Act>>,
    ) -> Response<Body> {
        let (path, waits) = (request.uri().path(), request.headers().contains_key(EXPECT));
        if Peer::is_probe(path) || is_public(path) {
            // These take no body, and anybody may send one, so nothing of it is kept.
            let (head, body) = request.into_parts();
            let is_read =
                body.is_end_stream() || (!waits && body::discard(body, &self.app.settings).await);
            let request = Request::from_parts(head, Body::empty());
            let response = self.handle(request, caller, act).await;
            return if is_read { response } else { announce_close(response) };
        }
        self.handle(request, caller, act).await
    }

    /// Handles a request of which the body, if any, is still to be read.
    async fn handle<B: RequestBody>(
        self,
        request: Request<B>,
        caller: Caller,
        act: Option<Arc<Act>>,
    ) -> Response<Body> {
        let tenant = caller.tenant().cloned();
        let unread = self.app.unread.clone();
        let handled = match Peer::is_probe(request.uri().path()) {
            true => None,
            false => match self.app.in_flight.begin(tenant.as_ref()) {
                Ok(handled) => Some(handled),
                // To read the body would take what there is too little of.
                Err(error) if request.body().is_end_stream() => return error.into_response(),
                Err(error) => return announce_close(error.into_response()),
            },
        };
        let response = self.dispatch(request, caller, act).await;
        drop(handled);
        unread.watch(tenant.as_ref(), response)
    }

    /// Answers a request of a caller that is over its limit. Reads its body only if it is short: a new
    /// connection would cost more than that.
    async fn refuse_cheaply<B: RequestBody>(
        self,
        error: ApiError,
        request: Request<B>,
    ) -> Response<Body> {
        match request.body().size_hint().upper() {
            Some(bytes) if bytes <= SHORT_BODY => self.refuse(error, request).await,
            _ => announce_close(error.into_response()),
        }
    }

    /// Answers a request without handling it. Reads its body, of which nothing is kept, unless the client
    /// waits to be asked for it.
    async fn refuse<B: RequestBody>(self, error: ApiError, request: Request<B>) -> Response<Body> {
        let waits = request.headers().contains_key(EXPECT);
        let body = request.into_body();
        let is_read =
            body.is_end_stream() || (!waits && body::discard(body, &self.app.settings).await);
        let response = error.into_response();
        if is_read { response } else { announce_close(response) }
    }

    async fn dispatch<B: RequestBody>(
        self,
        request: Request<B>,
        caller: Caller,
        act: Option<Arc<Act>>,
    ) -> Response<Body> {
        let (mut head, body) = request.into_parts();
        if let Some(act) = act {
            head.extensions.insert(act);
        }
        let mut reserved = match self.reserve(&caller, room_for(&body, &self.app.settings)).await {
            Ok(reserved) => reserved,
            Err(error) => return announce_close(error.into_response()),
        };
        // This client waits for the handler to ask for the body, so do not read it here.
        if head.headers.contains_key(EXPECT) {
            let (body, end) = WatchedBody::new(body);
            head.extensions.insert(caller);
            let response = self.route(Request::from_parts(head, Body::new(body))).await;
            return if end.was_reached() { response } else { announce_close(response) };
        }
        // Read all of it even if the handler does not need it: an unread body would close the
        // connection.
        let body = match body::read(body, &self.app.settings).await {
            Ok(body) => body,
            Err(error) => return announce_close(error.into_response()),
        };
        if let Some(reserved) = &mut reserved {
            reserved.shrink_to(body.len());
        }
        let response = match fast_path::route(&head.method, &head.uri) {
            Some(route) => route.handle(Access::new(self.app, caller), &head, body).await,
            None => {
                head.extensions.insert(caller);
                self.route(Request::from_parts(head, Body::from(body))).await
            }
        };
        tracing::debug!(status = response.status().as_u16(), "answered");
        response
    }

    async fn reserve(
        &self,
        caller: &Caller,
        bytes: Option<usize>,
    ) -> Result<Option<Reserved>, ApiError> {
        let Some(bytes) = bytes else { return Ok(None) };
        self.app.incoming.reserve(caller.tenant(), bytes).await.map(Some)
    }

    async fn route(mut self, request: Request<Body>) -> Response<Body> {
        self.router.call(request).await.unwrap_or_else(|never| match never {})
    }
}

/// How many bytes to reserve for a body. A short one needs no room; one of unknown length may become as long
/// as is allowed; longer ones are refused without being read.
fn room_for<B: RequestBody>(body: &B, settings: &Settings) -> Option<usize> {
    let longest = settings.limits.body_bytes as u64;
    let length = body.size_hint().exact().unwrap_or(longest);
    let needs_room = !body.is_end_stream() && length > SHORT_BODY && length <= longest;
    needs_room.then_some(length as usize)
}

/// Answers a request under its id, which errors and the answer's header then have. For services of other crates.
pub async fn identified<B, Answering: Future<Output = Response<Body>>>(
    request: Request<B>,
    answer: impl FnOnce(Request<B>) -> Answering,
) -> Response<Body> {
    let id = request_id_for(&request);
    let mut response = REQUEST_ID.scope(id.clone(), answer(request)).await;
    let headers = response.headers_mut();
    headers.insert("ojs-version", HeaderValue::from_static("1.0"));
    headers.insert("x-request-id", id);
    response
}

/// The id and the JSON of an error about something that is not a request.
pub(super) fn error_outside_of_requests(error: &ApiError) -> (String, String) {
    let id = new_request_id();
    REQUEST_ID.sync_scope(id, || (request_id(), error.body().to_string()))
}

/// The client's own id, if it is safe to log and to send back; otherwise a new one.
fn request_id_for<B>(request: &Request<B>) -> HeaderValue {
    let header = request.headers().get("x-request-id");
    let is_safe = |id: &&HeaderValue| {
        let bytes = id.as_bytes();
        !bytes.is_empty() && bytes.len() <= MAX_ID_BYTES && bytes.iter().all(u8::is_ascii_graphic)
    };
    header.filter(is_safe).cloned().unwrap_or_else(new_request_id)
}

fn new_request_id() -> HeaderValue {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let ms = now.map_or(0, |since| since.as_millis() as i64);
    let mut text = Vec::with_capacity(40);
    text.extend_from_slice(b"req_");
    JobId::v7(ms, fastrand::u128(..)).write(&mut text);
    HeaderValue::from_bytes(&text).expect("an id is ASCII")
}
