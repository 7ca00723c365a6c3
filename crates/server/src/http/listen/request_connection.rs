//! What handlers can know about, and do with, the connection of the request that they handle.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::MAX_READ_TIME;
use super::connection::Client;
use super::progress::Progress;
use super::slots::Slot;
use super::turns::Seat;
use crate::http::error::ApiError;
use crate::runtime::Source;

/// The connection of a request.
#[derive(Clone)]
pub(super) struct RequestConnection {
    /// `None` for HTTP/2, where a client that gives up a request ends its handler.
    pub client: Option<Client>,
    pub slot: Arc<Slot>,
    pub seat: Arc<Seat>,
}

impl RequestConnection {
    fn progress(&self) -> &Progress {
        self.slot.progress()
    }
}

tokio::task_local! {
    static CONNECTION: RequestConnection;
}

/// Runs the handler of a request.
pub(super) async fn with_connection<T>(
    connection: RequestConnection,
    handler: impl Future<Output = T>,
) -> T {
    let slot = connection.slot.clone();
    let _handled = Handled::begin(&slot);
    CONNECTION.scope(connection, handler).await
}

/// A request that is being handled. Also ends if the handler is dropped.
struct Handled<'a>(&'a Progress);

impl<'a> Handled<'a> {
    fn begin(slot: &'a Slot) -> Self {
        slot.progress().begin_request();
        Self(slot.progress())
    }
}

impl Drop for Handled<'_> {
    fn drop(&mut self) {
        self.0.end_request();
    }
}

/// Says whom the connection of the current request serves, and whose turn it waits for from now on. Completes
/// where that caller is to be served.
pub(in crate::http) async fn serve_for(source: &Source) {
    let is_to_move = CONNECTION.try_with(|connection| {
        connection.seat.set_source(source);
        connection.seat.is_to_move()
    });
    if is_to_move.unwrap_or(false) {
        tokio::task::yield_now().await;
    }
}

/// Whether the current request arrived in one of the connection slots that are kept back for requests
/// that do not wait.
pub(in crate::http) fn is_kept_back() -> bool {
    CONNECTION.try_with(|connection| connection.slot.is_kept_back()).unwrap_or(false)
}

/// Whether the current request came over a connection, and not from this process.
pub(in crate::http) fn has_connection() -> bool {
    CONNECTION.try_with(|_| ()).is_ok()
}

/// Completes when the client of the current request has closed its side of the connection, so that it is
/// probably gone, though it may still read the answer. Looks after `delay` for the first time.
pub(in crate::http) fn client_closed_after(
    delay: Duration,
) -> impl Future<Output = ()> + Send + 'static {
    let client = CONNECTION.try_with(|connection| connection.client.clone()).ok().flatten();
    async move {
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        match client {
            Some(client) => client.closed().await,
            None => std::future::pending().await,
        }
    }
}

pub(in crate::http) fn client_closed() -> impl Future<Output = ()> + Send + 'static {
    client_closed_after(Duration::ZERO)
}

/// The error for a request that would wait on a connection that is kept back.
pub(in crate::http) fn may_not_wait() -> ApiError {
    ApiError::busy("Nearly all connections are in use, so this request may not wait.")
        .hint(
            "Try again after the time in Retry-After; an operator can raise http.max_connections.",
        )
        .retry_after(5)
}

/// Waits for the rest of a request, `timeout` at most. Until the request is complete, the connection may
/// be closed to make room for another.
pub(in crate::http) async fn wait_for_rest<T>(
    timeout: Duration,
    rest: impl Future<Output = T>,
) -> Result<T, tokio::time::error::Elapsed> {
    let set_awaited =
        |awaited| CONNECTION.try_with(|connection| connection.progress().set_body_awaited(awaited));
    let timeout = if is_kept_back() { timeout.min(MAX_READ_TIME) } else { timeout };
    let _ = set_awaited(true);
    let rest = tokio::time::timeout(timeout, rest).await;
    let _ = set_awaited(false);
    rest
}

/// Closes the connection of the current request at once, even if data is still to be written to it.
pub(in crate::http) struct Cut(Arc<Notify>);

impl Cut {
    /// The handle for the connection of the current request; `None` outside of a request.
    pub fn of_this_request() -> Option<Self> {
        CONNECTION.try_with(|connection| Self(connection.slot.cut().clone())).ok()
    }

    /// Closes the connection.
    pub fn now(&self) {
        self.0.notify_one();
    }
}

/// Keeps the slot of a connection that HTTP has let go of.
pub(in crate::http) struct HeldSlot(
    #[expect(dead_code, reason = "it is held, not used")] Arc<Slot>,
);

/// The slot of the current request's connection; `None` outside of a request.
pub(in crate::http) fn hold_slot() -> Option<HeldSlot> {
    CONNECTION.try_with(|connection| HeldSlot(connection.slot.clone())).ok()
}
