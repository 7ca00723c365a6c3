//! Accepting connections: bounded in number, slow ones cut off, all of them ended in order.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Notify, Semaphore};

use super::Entrance;

/// Connections that may wait to be accepted. When all clients of a large service come back at the
/// same moment, the system resets those that do not fit.
const BACKLOG: u32 = 4096;

tokio::task_local! {
    static CUT: Arc<Notify>;
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
    let places = Arc::new(Semaphore::new(max_connections));
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place,
            () = &mut stop => break,
        };
        let Ok(place) = place else { break };
        let stream = tokio::select! {
            accepted = accept(&listener.listener) => accepted,
            () = &mut stop => break,
        };
        let entrance = entrance.clone();
        let service = service_fn(move |request| {
            let entrance = entrance.clone();
            async move { Ok::<_, Infallible>(entrance.serve(request).await) }
        });
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            let cut = Arc::new(Notify::new());
            tokio::select! {
                ended = CUT.scope(cut.clone(), connection) => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended early");
                    }
                }
                () = cut.notified() => tracing::debug!("a connection was cut off"),
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
