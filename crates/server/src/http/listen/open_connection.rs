//! One connection from its acceptance to its end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use tokio::net::TcpStream;

use super::connection::Connection;
use super::parser_error::tls_expected;
use super::peer::Peer;
use super::protocol::Protocol;
use super::request_connection::{RequestConnection, with_connection};
use super::slots::{Class, Slot};
use super::tls::Certificates;
use super::turns::Seat;
use super::{Serve, Shared};

/// The longest that a connection in a slot that is kept back may be open, so that a client cannot occupy
/// it by not reading the answer.
const MAX_LIFETIME: Duration = Duration::from_secs(30);
/// Why a connection was not opened that the client closed at once.
const NOTHING_SENT: &str = "the client sent nothing";
/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 22;

/// A connection that was accepted and has a slot.
pub(super) struct OpenConnection<S> {
    stream: TcpStream,
    peer: Peer,
    slot: Arc<Slot>,
    seat: Arc<Seat>,
    shared: Arc<Shared<S>>,
}

impl<S: Serve> OpenConnection<S> {
    pub fn new(
        stream: TcpStream,
        address: SocketAddr,
        slot: Slot,
        seat: Arc<Seat>,
        shared: Arc<Shared<S>>,
    ) -> Self {
        let probes_only = matches!(slot.class(), Class::Probe | Class::OverCap);
        let peer = Peer { address, certificate: None, probes_only };
        Self { stream, peer, slot: Arc::new(slot), seat, shared }
    }

    /// Serves the connection until it ends, or has to.
    pub async fn run(self) {
        let (slot, address) = (self.slot.clone(), self.peer.address);
        let write_timeout = self.shared.write_timeout;
        tokio::select! {
            () = self.serve() => {}
            () = slot.progress().stalled(write_timeout) => {
                tracing::debug!(%address, "a client that does not read its answer was cut off");
            }
            () = slot.cut().notified() => tracing::debug!(%address, "a connection was cut off"),
            () = tokio::time::sleep(MAX_LIFETIME), if slot.is_kept_back() => {
                tracing::debug!(%address, "a connection in a slot that is kept back took too long");
            }
        }
    }

    async fn serve(self) {
        let Self { stream, mut peer, slot, seat, shared } = self;
        let mut stopping = shared.stopping.subscribe();
        let address = peer.address;
        let opened = tokio::select! {
            opened = open(stream, &mut peer, &slot, &shared) => opened,
            // Nothing was asked yet.
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        let connection = match opened {
            Ok(connection) => connection,
            Err(reason) => return tracing::debug!(%address, reason, "a connection was not opened"),
        };
        let client = match connection.protocol() {
            Protocol::Http1 => Some(connection.client()),
            Protocol::Http2 => None,
        };
        let outgoing = connection.outgoing();
        let by_content = connection.protocol() == Protocol::Http2;
        let request_connection = RequestConnection { client, slot: slot.clone(), seat };
        let (service, peer) = (shared.service.clone(), Arc::new(peer));
        let handler = service_fn(move |request: Request<Incoming>| {
            let serving = service.clone().serve(peer.clone(), request);
            let serving = with_connection(request_connection.clone(), serving);
            let outgoing = outgoing.clone();
            async move { Ok::<_, Infallible>(outgoing.watch_claims(serving.await, by_content)) }
        });
        let once = slot.is_kept_back();
        let ended =
            shared.protocols.serve(connection, handler, once, slot.progress(), stopping).await;
        if let Err(error) = ended {
            tracing::debug!(%address, %error, "a connection ended early");
        }
    }
}

/// Finds out the protocol, after a handshake if the server speaks TLS. The error says why there is
/// nothing to serve.
async fn open<S: Serve>(
    stream: TcpStream,
    peer: &mut Peer,
    slot: &Slot,
    shared: &Shared<S>,
) -> Result<Connection, String> {
    let Some(certificates) = &shared.certificates else {
        let longest = shared.protocols.header_timeout(slot.is_kept_back());
        let detected = tokio::time::timeout(longest, Protocol::detect(&stream)).await;
        let protocol = detected.map_err(|_| "nothing was sent")?.map_err(|e| e.to_string())?;
        return Ok(Connection::plain(stream, protocol, slot.progress().clone()));
    };
    let address = peer.address.ip();
    if !shared.service.may_shake_hands(address) {
        return Err("too many handshakes of its address have just failed".to_owned());
    }
    let handshake = shake_hands(stream, peer, slot, certificates);
    let handshake = tokio::time::timeout(certificates.handshake_timeout(), handshake).await;
    let opened = handshake.unwrap_or_else(|_| Err("the handshake took too long".to_owned()));
    // Whoever goes away without a word has only looked whether the port is open.
    if opened.as_ref().is_err_and(|reason| reason != NOTHING_SENT) {
        shared.service.note_failed_handshake(address);
    }
    opened
}

async fn shake_hands(
    stream: TcpStream,
    peer: &mut Peer,
    slot: &Slot,
    certificates: &Certificates,
) -> Result<Connection, String> {
    let mut first = [0];
    let count = stream.peek(&mut first).await.map_err(|error| error.to_string())?;
    if count == 0 {
        return Err(NOTHING_SENT.to_owned());
    }
    if first[0] != HANDSHAKE {
        let connection = Connection::plain(stream, Protocol::Http1, slot.progress().clone());
        let _ = connection.answer_and_close(tls_expected()).await;
        return Err("the client does not speak TLS".to_owned());
    }
    let (stream, certificate) = certificates.accept(stream, slot.handshakes()).await?;
    peer.certificate = certificate;
    let protocol = Protocol::from_handshake(stream.get_ref().1.alpn_protocol());
    Ok(Connection::encrypted(stream, protocol, slot.progress().clone()))
}
