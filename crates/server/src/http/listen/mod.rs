//! Accepts connections: bounds their number, encrypts them, closes slow ones, and shuts down gracefully.

mod address;
mod connection;
mod eviction;
mod failed_handshakes;
mod frames;
mod open_answers;
mod open_connection;
mod outgoing;
mod parser_error;
mod peer;
mod port;
mod progress;
mod protocol;
mod request_connection;
mod slots;
mod tls;
mod turns;
mod watched_answer;

pub use failed_handshakes::FailedHandshakes;
pub use peer::Peer;
pub use port::Listener;
pub(super) use request_connection::{
    Cut, client_closed, client_closed_after, has_connection, hold_slot, is_kept_back, may_not_wait,
    serve_for, wait_for_rest,
};
pub use tls::{Certificates, TlsError};

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use rota_settings::Settings;
use tokio::sync::watch;

use address::Addresses;
use open_connection::OpenConnection;
use protocol::Protocols;
use slots::Slots;
use turns::{InTurn, Tiers, Turns};

/// In a slot that is kept back, the longest that a client may take to send the head, and again to send
/// the body, of its request.
const MAX_READ_TIME: Duration = Duration::from_secs(5);

/// Answers the requests of connections.
pub trait Serve: Clone + Send + Sync + 'static {
    /// Answers one request.
    fn serve(
        self,
        peer: Arc<Peer>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Body>> + Send;

    /// Whether an address may try a TLS handshake.
    fn may_shake_hands(&self, address: IpAddr) -> bool;

    /// Notes that a TLS handshake has failed.
    fn note_failed_handshake(&self, address: IpAddr);
}

/// What all connections share.
struct Shared<S> {
    service: S,
    protocols: Protocols,
    /// How long a client may read nothing of its answer.
    write_timeout: Duration,
    certificates: Option<Arc<Certificates>>,
    stopping: watch::Sender<bool>,
}

/// Serves until `stop` completes, then lets requests under way finish, for up to the grace time.
pub async fn serve(
    listener: Listener,
    service: impl Serve,
    settings: &Settings,
    certificates: Option<Arc<Certificates>>,
    stop: impl Future<Output = ()>,
) {
    let tiers = Tiers::start();
    let turns = Turns::new(tiers.clone());
    let slots = Slots::new(settings.http.max_connections, Addresses::new(settings));
    let shared = Arc::new(Shared {
        service,
        protocols: Protocols::new(settings.http.header_timeout, settings.http.write_timeout),
        write_timeout: settings.http.write_timeout,
        certificates,
        stopping: watch::Sender::new(false),
    });
    tokio::pin!(stop);
    loop {
        let (stream, address) = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let slot = tokio::select! {
            slot = slots.acquire(address.ip()) => slot,
            () = &mut stop => break,
        };
        if let Some(slot) = slot {
            let seat = turns.seat(address.ip());
            let connection =
                OpenConnection::new(stream, address, slot, seat.clone(), shared.clone());
            InTurn::spawn(connection.run(), seat);
        }
    }
    drop(listener);
    shared.stopping.send_replace(true);
    if tokio::time::timeout(settings.shutdown.grace, slots.all_free()).await.is_err() {
        tracing::warn!("some requests did not end within the grace time and were cut off");
    }
    tiers.stop();
}
