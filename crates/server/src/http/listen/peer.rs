//! The other end of a connection.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::StatusCode;
use rota_identity::ClientCertificate;
use rota_settings::Http;

use crate::http::error::ApiError;

/// The requests by which others see whether the server lives.
const PROBES: [&str; 6] =
    ["/health", "/ready", "/metrics", "/ojs/v1/health", "/ojs/v1/metrics", "/v1/health"];

const THROUGH_PROXY: &str = "This server is to be used through its proxy.";

/// The other end of a connection: a client, or a proxy.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The address that the connection comes from. Behind a proxy, it is the proxy's.
    pub address: SocketAddr,
    /// The certificate that it proved to have, signed by one of the configured authorities.
    pub certificate: Option<Arc<ClientCertificate>>,
    /// The connection has one of the slots for probes, because all others are in use.
    pub probes_only: bool,
}

impl Peer {
    /// Whether a request for this path is a probe.
    pub(in crate::http) fn is_probe(path: &str) -> bool {
        PROBES.contains(&path)
    }

    /// Refuses what is not a probe if the connection is for probes only, or does not come through a
    /// proxy although all clients have to.
    pub(in crate::http) fn check_path(&self, path: &str, http: &Http) -> Result<(), ApiError> {
        if Self::is_probe(path) {
            return Ok(());
        }
        let address = self.address.ip().to_canonical();
        if http.behind_proxy && !address.is_loopback() && !http.trusted_proxies.contain(address) {
            return Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", THROUGH_PROXY).hint(
                "Use the proxy's address; http.trusted_proxies has those that are trusted.",
            ));
        }
        if !self.probes_only {
            return Ok(());
        }
        Err(ApiError::busy("All connections are in use, so only probes are answered.")
            .hint(
                "Try again after the time in Retry-After, and keep fewer connections open; an operator can \
                 raise http.max_connections or http.max_connections_per_address.",
            )
            .retry_after(5))
    }
}
