//! The request that turns a connection into a WebSocket.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    CONNECTION, HOST, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::super::super::Access;
use super::super::super::error::{ApiError, ApiResult};
use super::super::super::listen::hold_slot;
use super::super::open::reserve;
use super::session::Session;

/// The subprotocol, which is in use whether the client offers it or none.
const PROTOCOL: &str = "ojs.v1";

/// Serves the connection from its upgrade on in a task of its own, which holds the connection's slot.
pub(in super::super::super) async fn connect(app: Access, mut request: Request) -> ApiResult {
    let key = key_of(request.headers())?;
    check_origin(request.headers(), &app)?;
    let upgrade = request.extensions_mut().remove::<OnUpgrade>().ok_or_else(upgrade_required)?;
    let offered = list(request.headers(), &SEC_WEBSOCKET_PROTOCOL).any(|name| name == PROTOCOL);
    let (room, slot) = (reserve(&app).await?, hold_slot());
    let access = app.clone();
    let serve = async move {
        match upgrade.await {
            Ok(io) => Session::new(app, room).run(TokioIo::new(io)).await,
            Err(error) => tracing::debug!(%error, "a connection ended before its upgrade"),
        }
        drop(slot);
    };
    access.turns().spawn(serve);
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept.expect("base64 is ASCII"));
    if offered {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    }
    Ok(response)
}

/// The client's key, if the request is a proper request for a WebSocket.
fn key_of(headers: &HeaderMap) -> Result<HeaderValue, ApiError> {
    let has = |name: &HeaderName, wanted: &str| {
        list(headers, name).any(|word| word.eq_ignore_ascii_case(wanted))
    };
    if !has(&CONNECTION, "upgrade") || !has(&UPGRADE, "websocket") {
        return Err(upgrade_required());
    }
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err(upgrade_required().header_text("sec-websocket-version", "13"));
    }
    // 16 bytes in base64.
    let is_key = |key: &&HeaderValue| key.len() == 24 && key.as_bytes().ends_with(b"==");
    headers.get(SEC_WEBSOCKET_KEY).filter(is_key).cloned().ok_or_else(|| {
        ApiError::invalid_request("The header Sec-WebSocket-Key must be 16 bytes in base64.")
            .detail("field", "Sec-WebSocket-Key")
    })
}

fn upgrade_required() -> ApiError {
    let text = "This path serves WebSockets of version 13 only.";
    ApiError::new(StatusCode::UPGRADE_REQUIRED, "invalid_request", text)
        .detail("field", "Upgrade")
        .hint("Connect with ws://; GET /ojs/v1/events/stream has the same events without a WebSocket.")
        .header_text("upgrade", "websocket")
}

/// Refuses pages of other sites. Browsers send `Origin`, let any page open a WebSocket, and let it read
/// what comes, so without this any page could read the events of a server on its visitor's machine.
fn check_origin(headers: &HeaderMap, app: &Access) -> Result<(), ApiError> {
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let own = origin.split_once("://").is_some_and(|(_, site)| site.eq_ignore_ascii_case(host));
    if own || app.settings.http.cors_origins.allow(origin) {
        return Ok(());
    }
    let text = "Pages of other sites may not open WebSockets here.";
    Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", text)
        .hint("The setting http.cors_origins lists the origins that may.")
        .detail("field", "Origin"))
}

/// The words of a header that is a list.
fn list<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}
