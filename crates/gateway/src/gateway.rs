//! The gateway: takes requests and sees to it that they are answered.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use axum::response::IntoResponse;
use hyper::body::Incoming;
use rota_client::federation::{FederatedClient, Settings as Federation, SettingsError};
use rota_server::http::{
    self, ApiError, Certificates, FailedHandshakes, Listener, Peer, Serve, TlsError,
};
use rota_settings::Settings;

use crate::answer;
use crate::bodies::Bodies;
use crate::caller::ClientRequest;
use crate::log_events;
use crate::route_table::{Found, Handling, Own, RouteTable};

/// The address unless one is given.
const USUAL_ADDRESS: ([u8; 4], u16) = ([127, 0, 0, 1], 8090);

/// A gateway that listens.
pub struct Gateway {
    listener: Listener,
    certificates: Option<Arc<Certificates>>,
    settings: Settings,
    service: Service,
}

/// Why a gateway cannot start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The description of the regions is wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// TLS cannot be used.
    #[error("TLS cannot be used: {0}")]
    Tls(#[from] TlsError),
    /// The port cannot be used.
    #[error("cannot listen on {address}: {cause}; choose another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's message.
        cause: std::io::Error,
    },
}

/// Answers requests.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) client: FederatedClient,
    table: Arc<RouteTable>,
    bodies: Bodies,
    handshakes: Arc<FailedHandshakes>,
}

impl Gateway {
    /// Binds the port and begins to watch the regions. `settings` has the address and the limits of connections.
    pub async fn open(federation: Federation, settings: Settings) -> Result<Self, GatewayError> {
        let certificates = Certificates::load(&settings)?;
        let client = FederatedClient::with_events(federation, log_events::log)?;
        let address = settings.listen;
        let listen = |cause| GatewayError::Listen { address, cause };
        let listener = Listener::bind(address).await.map_err(listen)?;
        let table = Arc::new(RouteTable::new());
        let bodies = Bodies::new(settings.limits.body_bytes);
        let handshakes = Arc::new(FailedHandshakes::new(&settings));
        let service = Service { client, table, bodies, handshakes };
        Ok(Self { listener, certificates, settings, service })
    }

    /// The address that a gateway listens on unless another one is given.
    #[must_use]
    pub fn usual_address() -> SocketAddr {
        SocketAddr::from(USUAL_ADDRESS)
    }

    /// The address it listens on.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.address()
    }

    /// The client of the regions.
    #[must_use]
    pub fn client(&self) -> FederatedClient {
        self.service.client.clone()
    }

    /// Serves until `stop` completes, then answers what is under way.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let certificates = self.certificates;
        let reloading = certificates.clone().map(|all| tokio::spawn(all.reload_when_changed()));
        http::serve(self.listener, self.service, &self.settings, certificates, stop).await;
        if let Some(reloading) = reloading {
            reloading.abort();
        }
    }
}

impl Serve for Service {
    async fn serve(self, peer: Arc<Peer>, request: Request<Incoming>) -> Response<Body> {
        http::identified(request, |request| async move { self.answer(&peer, request).await }).await
    }

    fn may_shake_hands(&self, address: IpAddr) -> bool {
        self.handshakes.may_try(address)
    }

    fn note_failed_handshake(&self, address: IpAddr) {
        tracing::debug!(%address, "a TLS handshake has failed");
        self.handshakes.count(address);
    }
}

impl Service {
    async fn answer(&self, peer: &Peer, request: Request<Incoming>) -> Response<Body> {
        let found = self.table.find(request.method(), request.uri().path());
        let (handling, id) = match found {
            Found::Handled(Handling::Refused, _) => return refused(request.uri().path()),
            Found::Handled(handling, id) => (handling, id),
            Found::OtherMethod => {
                let text = format!("{} is not served at this path.", request.method());
                return ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", text)
                    .into_response();
            }
            Found::Nothing => {
                return ApiError::not_found("path", request.uri().path())
                    .hint("All endpoints are under /ojs/v1; docs/federation.md lists them.")
                    .into_response();
            }
        };
        if peer.probes_only && !matches!(handling, Handling::Own(Own::Health | Own::Ready)) {
            let text = "All connections are in use, so only probes are answered.";
            return ApiError::busy(text).retry_after(5).into_response();
        }
        let (head, body) = request.into_parts();
        let address = peer.address.ip().to_canonical();
        let (body, _reserved) = match self.bodies.read(body, address).await {
            Ok(read) => read,
            Err(error) => return error.into_response(),
        };
        let request = ClientRequest::new(&head, body, address);
        self.handle(handling, id, &request).await
    }

    async fn handle(
        &self,
        handling: Handling,
        id: Option<String>,
        request: &ClientRequest,
    ) -> Response<Body> {
        // Each in its own box: one future with room for the largest of them would be moved with every request.
        match (handling, id) {
            (Handling::Routed, _) => Box::pin(self.route_job(request)).await,
            (Handling::RoutedBatch, _) => Box::pin(self.route_batch(request)).await,
            (Handling::ToJob, Some(id)) => Box::pin(self.to_job(&id, request)).await,
            (Handling::Settled, _) => Box::pin(self.settle(request)).await,
            (Handling::Fetched, _) => Box::pin(self.fetch(request)).await,
            (Handling::ToWorkers, _) => Box::pin(self.to_workers(request)).await,
            (Handling::Heartbeat, _) => Box::pin(self.heartbeat(request)).await,
            (Handling::MergedList, _) => Box::pin(self.list(request)).await,
            (Handling::MergedFigures, _) => Box::pin(self.figures(request)).await,
            (Handling::Own(own), _) => self.own(own, request),
            (Handling::Schedule, _) => Box::pin(self.schedule(request)).await,
            (Handling::ToHome | Handling::ToJob | Handling::Refused, _) => {
                Box::pin(self.to_home(request)).await
            }
        }
    }

    pub(crate) async fn to_home(&self, request: &ClientRequest) -> Response<Body> {
        match self.client.pass_to(&self.home_region(), &request.forward()).await {
            Ok(passed) => answer::pass_back(passed),
            Err(error) => answer::failure(&error),
        }
    }

    /// The region of everything that is in one region only.
    pub(crate) fn home_region(&self) -> String {
        let settings = self.client.settings();
        settings.gateway.home_region.as_ref().unwrap_or(&settings.local_region).clone()
    }

    /// The regions from which workers get jobs: those in the settings, else the local one and those that declare
    /// queues.
    pub(crate) fn fetch_regions(&self) -> Vec<String> {
        let settings = self.client.settings();
        if !settings.gateway.fetch_regions.is_empty() {
            return settings.gateway.fetch_regions.clone();
        }
        let local = std::iter::once(&settings.local_region);
        let declaring = settings.regions.iter().filter(|region| !region.queues.is_empty());
        let others = declaring.map(|region| &region.id).filter(|id| **id != settings.local_region);
        local.chain(others).cloned().collect()
    }
}

fn refused(path: &str) -> Response<Body> {
    ApiError::unsupported(format!("A gateway does not serve '{path}'."))
        .hint("Send it to the region that it is about; docs/federation.md lists what a gateway serves.")
        .into_response()
}
