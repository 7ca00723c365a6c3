//! Accepts connections: bounds their number, closes slow ones, and shuts down gracefully.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

use super::HttpService;
use super::connection::{Client, Connection};
use super::error::ApiError;

/// Length of the accept queue. When all clients of a large service reconnect at the same moment, the
/// system resets the connections that do not fit.
const BACKLOG: u32 = 4096;

/// In a slot that is kept back, the longest that a client may take to send the head, and again to send
/// the body, of its request.
const MAX_READ_TIME: Duration = Duration::from_secs(5);
/// In such a slot, the time that a client has to send its request while others wait for the slot.
const MIN_READ_TIME: Duration = Duration::from_millis(2);
/// The longest that a connection in such a slot may be open, so that a client cannot occupy it by not
/// reading the answer.
const MAX_LIFETIME: Duration = Duration::from_secs(30);

tokio::task_local! {
    static CLIENT: Client;
    static CUT: Arc<Notify>;
    static HAS_REQUEST: Arc<AtomicBool>;
    static KEPT_BACK: bool;
    static SLOT: Arc<Slot>;
}

/// Whether the current request arrived in one of the connection slots that are kept back for requests
/// that do not wait.
pub(super) fn is_kept_back() -> bool {
    KEPT_BACK.try_with(|kept_back| *kept_back).unwrap_or(false)
}

/// Completes when the client of the current request has closed its side of the connection, so that it is
/// probably gone, though it may still read the answer. Looks after `delay` for the first time.
pub(super) fn client_closed_after(delay: Duration) -> impl Future<Output = ()> + Send + 'static {
    let client = CLIENT.try_with(Clone::clone).ok();
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

pub(super) fn client_closed() -> impl Future<Output = ()> + Send + 'static {
    client_closed_after(Duration::ZERO)
}

/// The error for a request that would wait on such a connection.
pub(super) fn may_not_wait() -> ApiError {
    ApiError::busy("Nearly all connections are in use, so this request may not wait.")
        .hint(
            "Try again after the time in Retry-After; an operator can raise http.max_connections.",
        )
        .retry_after(5)
}

/// Waits for the rest of a request, `timeout` at most. Until the request is complete, the connection may
/// be closed to make room for another.
pub(super) async fn wait_for_rest<T>(
    timeout: Duration,
    rest: impl Future<Output = T>,
) -> Result<T, tokio::time::error::Elapsed> {
    let set_complete =
        |complete| HAS_REQUEST.try_with(|flag| flag.store(complete, Ordering::Relaxed));
    let timeout = if is_kept_back() { timeout.min(MAX_READ_TIME) } else { timeout };
    let _ = set_complete(false);
    let rest = tokio::time::timeout(timeout, rest).await;
    let _ = set_complete(true);
    rest
}

/// Closes the connection of the current request at once, even if data is still to be written to it.
pub(super) struct Cut(Arc<Notify>);

impl Cut {
    /// The handle for the connection of the current request; `None` outside of a request.
    pub fn of_this_request() -> Option<Self> {
        CUT.try_with(|cut| Self(cut.clone())).ok()
    }

    /// Closes the connection.
    pub fn now(&self) {
        self.0.notify_one();
    }
}

/// Keeps the slot of a connection that HTTP has let go of.
pub(super) struct HeldSlot(#[expect(dead_code, reason = "it is held, not used")] Arc<Slot>);

/// The slot of the current request's connection; `None` outside of a request.
pub(super) fn hold_slot() -> Option<HeldSlot> {
    SLOT.try_with(|slot| HeldSlot(slot.clone())).ok()
}

/// A bound port.
pub struct Listener {
    listener: TcpListener,
}

impl Listener {
    pub async fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // After a restart, the port can be bound while connections of the old process linger.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(Self { listener: socket.listen(BACKLOG)? })
    }

    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Slots for connections. A twentieth of them is kept back for requests that do not wait, so that
/// clients which occupy all others, with waiting requests or idle connections, lock nobody out.
struct Slots {
    ordinary: Arc<Semaphore>,
    kept_back: Arc<Semaphore>,
    max_connections: usize,
    /// Connections in slots that are kept back, oldest first.
    evictable: VecDeque<Evictable>,
}

/// A connection that may be closed to free its slot as long as it has not sent a complete request.
struct Evictable {
    has_request: Arc<AtomicBool>,
    cut: Arc<Notify>,
}

/// A connection's slot; dropping it frees the slot.
struct Slot {
    _permit: OwnedSemaphorePermit,
    kept_back: bool,
}

impl Slots {
    fn new(max_connections: usize) -> Self {
        let (ordinary, kept_back) = Self::division(max_connections);
        Self {
            ordinary: Arc::new(Semaphore::new(ordinary)),
            kept_back: Arc::new(Semaphore::new(kept_back)),
            max_connections,
            evictable: VecDeque::new(),
        }
    }

    /// Waits for a slot for a new connection. While all are taken, closes the oldest connection that has
    /// not sent a complete request, so idle connections and unfinished requests block nobody.
    async fn acquire(&mut self) -> Option<Slot> {
        loop {
            tokio::select! {
                slot = self.next_free() => return slot,
                () = tokio::time::sleep(MIN_READ_TIME), if !self.evictable.is_empty() => {}
            }
            let is_silent =
                |connection: &Evictable| !connection.has_request.load(Ordering::Relaxed);
            if let Some(oldest) = self.evictable.pop_front().filter(is_silent) {
                oldest.cut.notify_one();
            }
        }
    }

    /// Waits until all connections have ended, also those that are WebSockets by now.
    async fn all_free(&self) {
        let (ordinary, kept_back) = Self::division(self.max_connections);
        let _ = self.ordinary.acquire_many(ordinary as u32).await;
        let _ = self.kept_back.acquire_many(kept_back as u32).await;
    }

    /// How many slots are ordinary, and how many are kept back.
    fn division(max_connections: usize) -> (usize, usize) {
        let kept_back = (max_connections / 20).max(1).min(max_connections - 1);
        (max_connections - kept_back, kept_back)
    }

    /// Records a connection that has taken a slot that is kept back.
    fn note(&mut self, connection: Evictable) {
        // Only this list still refers to a connection that has ended.
        self.evictable.retain(|connection| Arc::strong_count(&connection.cut) > 1);
        self.evictable.push_back(connection);
    }

    /// The next free slot; one that is kept back only if no other is free.
    async fn next_free(&self) -> Option<Slot> {
        tokio::select! {
            biased;
            permit = self.ordinary.clone().acquire_owned() => {
                permit.ok().map(|permit| Slot { _permit: permit, kept_back: false })
            }
            permit = self.kept_back.clone().acquire_owned() => {
                permit.ok().map(|permit| Slot { _permit: permit, kept_back: true })
            }
        }
    }
}

/// Serves until `stop` completes, then lets requests under way finish, for up to `grace`.
pub async fn serve(
    listener: Listener,
    service: HttpService,
    max_connections: usize,
    header_timeout: Duration,
    stop: impl Future<Output = ()>,
    grace: Duration,
) {
    let mut http = http1::Builder::new();
    // A client that has closed its side gets its answer; requests that wait watch for it themselves.
    http.timer(TokioTimer::new()).header_read_timeout(header_timeout).half_close(true);
    let mut http_kept_back = http.clone();
    http_kept_back.header_read_timeout(header_timeout.min(MAX_READ_TIME)).keep_alive(false);
    let mut slots = Slots::new(max_connections);
    let stopping = watch::Sender::new(false);
    tokio::pin!(stop);
    loop {
        let stream = tokio::select! {
            accepted = accept(&listener.listener) => accepted,
            () = &mut stop => break,
        };
        let slot = tokio::select! {
            slot = slots.acquire() => slot,
            () = &mut stop => break,
        };
        let Some(slot) = slot else { break };
        let (has_request, cut) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
        if slot.kept_back {
            slots.note(Evictable { has_request: has_request.clone(), cut: cut.clone() });
        }
        let service = service.clone();
        let head_read = has_request.clone();
        let handler = service_fn(move |request| {
            let service = service.clone();
            head_read.store(true, Ordering::Relaxed);
            async move { Ok::<_, Infallible>(service.serve(request).await) }
        });
        let http = if slot.kept_back { &http_kept_back } else { &http };
        let connection = Connection::new(stream);
        let client = connection.client();
        let connection = http.serve_connection(TokioIo::new(connection), handler).with_upgrades();
        let (mut stopping, slot) = (stopping.subscribe(), Arc::new(slot));
        tokio::spawn(async move {
            let connection = async move {
                tokio::pin!(connection);
                tokio::select! {
                    ended = connection.as_mut() => return ended,
                    _ = stopping.wait_for(|stopping| *stopping) => {}
                }
                connection.as_mut().graceful_shutdown();
                connection.await
            };
            let connection = SLOT.scope(slot.clone(), connection);
            let connection = CLIENT.scope(client, connection);
            let connection = KEPT_BACK.scope(slot.kept_back, connection);
            let connection = HAS_REQUEST.scope(has_request, connection);
            tokio::select! {
                ended = CUT.scope(cut.clone(), connection) => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended early");
                    }
                }
                () = cut.notified() => tracing::debug!("a connection was cut off"),
                () = tokio::time::sleep(MAX_LIFETIME), if slot.kept_back => {
                    tracing::debug!("a connection in a slot that is kept back took too long");
                }
            }
            drop(slot);
        });
    }
    drop(listener);
    stopping.send_replace(true);
    if tokio::time::timeout(grace, slots.all_free()).await.is_err() {
        tracing::warn!("some requests did not end within the grace time and were cut off");
    }
}

/// Accepts the next connection. Errors are logged and retried: they come from a client, or from a lack
/// of file descriptors, which is temporary.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are written whole, so there is no more data to wait for.
                let _ = stream.set_nodelay(true);
                return stream;
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}
