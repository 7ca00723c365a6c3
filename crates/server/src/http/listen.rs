//! Accepting connections: bounded in number, slow ones cut off, all of them ended in order.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::Entrance;
use super::error::ApiError;

/// Connections that may wait to be accepted. When all clients of a large service come back at the
/// same moment, the system resets those that do not fit.
const BACKLOG: u32 = 4096;

/// How long a client may take to send the head, and the body, of a request on a connection that is
/// kept back.
const SHORT_WAIT: Duration = Duration::from_secs(5);
/// And how long at least, when others wait for a place.
const TIME_TO_ASK: Duration = Duration::from_millis(2);
/// How long such a connection may be open in all, so that nobody holds it by not reading the answer.
const SHORT_LIFE: Duration = Duration::from_secs(30);

tokio::task_local! {
    static CUT: Arc<Notify>;
    static HAS_ASKED: Arc<AtomicBool>;
    static KEPT_BACK: bool;
}

/// The request has come by one of the last connections, which are kept back for requests that are
/// answered at once.
pub(super) fn is_kept_back() -> bool {
    KEPT_BACK.try_with(|kept| *kept).unwrap_or(false)
}

/// The answer to a request that would wait on such a connection.
pub(super) fn may_not_wait() -> ApiError {
    ApiError::busy("Nearly all connections are in use, so that this request may not wait.")
        .hint(
            "Try again after the time in Retry-After; an operator can raise http.max_connections.",
        )
        .retry_after(5)
}

/// Waits for the rest of a request, at most `usual`. Until it is there, the client has not asked.
pub(super) async fn wait_for_rest<T>(
    usual: Duration,
    rest: impl Future<Output = T>,
) -> Result<T, tokio::time::error::Elapsed> {
    let asked = |whole| HAS_ASKED.try_with(|asked| asked.store(whole, Ordering::Relaxed));
    let _ = asked(false);
    let rest = tokio::time::timeout(patience(usual), rest).await;
    let _ = asked(true);
    rest
}

/// How long a client may take to send a part of its request.
fn patience(usual: Duration) -> Duration {
    if is_kept_back() { usual.min(SHORT_WAIT) } else { usual }
}

/// Ends the connection of the request that is being served, whatever is still to be written to it.
pub(super) struct Cut(Arc<Notify>);

impl Cut {
    pub fn of_this_request() -> Option<Self> {
        CUT.try_with(|cut| Self(cut.clone())).ok()
    }

    pub fn now(&self) {
        self.0.notify_one();
    }
}

pub struct Listener {
    listener: TcpListener,
}

impl Listener {
    pub async fn bind(address: SocketAddr) -> std::io::Result<Self> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        // A server that starts again need not wait for the connections of the one before it.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(Self { listener: socket.listen(BACKLOG)? })
    }

    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Places for connections. A twentieth is kept back: whoever holds all others, by requests that wait or
/// by doing nothing, keeps nobody from being answered.
struct Places {
    usual: Arc<Semaphore>,
    kept_back: Arc<Semaphore>,
    /// Connections in places that are kept back, the oldest first.
    newcomers: VecDeque<Newcomer>,
}

/// A connection that may not have sent a whole request yet.
struct Newcomer {
    has_asked: Arc<AtomicBool>,
    cut: Arc<Notify>,
}

/// A connection's place; it is free again when this is dropped.
struct Place {
    _permit: OwnedSemaphorePermit,
    kept_back: bool,
}

impl Places {
    fn new(max_connections: usize) -> Self {
        let kept = (max_connections / 20).max(1).min(max_connections - 1);
        Self {
            usual: Arc::new(Semaphore::new(max_connections - kept)),
            kept_back: Arc::new(Semaphore::new(kept)),
            newcomers: VecDeque::new(),
        }
    }

    /// A place for a connection that has come. When all are taken, the oldest that has not sent a whole
    /// request makes way: a crowd that is silent, or never ends its requests, keeps nobody waiting.
    async fn find(&mut self) -> Option<Place> {
        loop {
            tokio::select! {
                place = self.next() => return place,
                () = tokio::time::sleep(TIME_TO_ASK), if !self.newcomers.is_empty() => {}
            }
            let silent = |one: &Newcomer| !one.has_asked.load(Ordering::Relaxed);
            if let Some(oldest) = self.newcomers.pop_front().filter(silent) {
                oldest.cut.notify_one();
            }
        }
    }

    /// A connection has taken a place that is kept back.
    fn note(&mut self, newcomer: Newcomer) {
        // Nobody but the list knows of a connection that has ended.
        self.newcomers.retain(|one| Arc::strong_count(&one.cut) > 1);
        self.newcomers.push_back(newcomer);
    }

    /// The next place, as soon as there is one.
    async fn next(&self) -> Option<Place> {
        tokio::select! {
            biased;
            usual = self.usual.clone().acquire_owned() => {
                usual.ok().map(|permit| Place { _permit: permit, kept_back: false })
            }
            kept = self.kept_back.clone().acquire_owned() => {
                kept.ok().map(|permit| Place { _permit: permit, kept_back: true })
            }
        }
    }
}

/// Serves until `stop` is done; then lets the requests in hand end, for `grace` at the longest.
pub async fn serve(
    listener: Listener,
    entrance: Entrance,
    max_connections: usize,
    header_timeout: Duration,
    stop: impl Future<Output = ()>,
    grace: Duration,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(header_timeout).keep_alive(true);
    let mut short = http.clone();
    short.header_read_timeout(header_timeout.min(SHORT_WAIT)).keep_alive(false);
    let mut places = Places::new(max_connections);
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let stream = tokio::select! {
            accepted = accept(&listener.listener) => accepted,
            () = &mut stop => break,
        };
        let place = tokio::select! {
            place = places.find() => place,
            () = &mut stop => break,
        };
        let Some(place) = place else { break };
        let (has_asked, cut) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
        if place.kept_back {
            places.note(Newcomer { has_asked: has_asked.clone(), cut: cut.clone() });
        }
        let entrance = entrance.clone();
        let asked = has_asked.clone();
        let service = service_fn(move |request| {
            let entrance = entrance.clone();
            asked.store(true, Ordering::Relaxed);
            async move { Ok::<_, Infallible>(entrance.serve(request).await) }
        });
        let http = if place.kept_back { &short } else { &http };
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            let connection = KEPT_BACK.scope(place.kept_back, connection);
            let connection = HAS_ASKED.scope(has_asked, connection);
            tokio::select! {
                ended = CUT.scope(cut.clone(), connection) => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended early");
                    }
                }
                () = cut.notified() => tracing::debug!("a connection was cut off"),
                () = tokio::time::sleep(SHORT_LIFE), if place.kept_back => {
                    tracing::debug!("a connection that was kept back took too long");
                }
            }
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(grace, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not end within the grace time and were cut off");
    }
}

/// The next connection. Errors are those of the client, or of this process having too many files
/// open, which passes.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are small and complete: there is nothing to wait for.
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
