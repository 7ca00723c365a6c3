//! The gateway: takes requests and sees to it that they are answered.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use axum::response::IntoResponse;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use rota_client::federation::{FederatedClient, Settings as Federation, SettingsError};
use rota_server::http::{
    self, ApiError, Certificates, FailedHandshakes, Listener, Peer, Serve, TlsError,
};
use rota_settings::Settings;

use crate::answer;
use crate::caller::ClientRequest;
use crate::log_events;
use crate::route_table::{Found, Handling, RouteTable};

/// The address unless one is given.
const USUAL_ADDRESS: ([u8; 4], u16) = ([127, 0, 0, 1], 8090);
/// How long a client may take to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

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
    most_bytes: usize,
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
        let (table, most_bytes) = (Arc::new(RouteTable::new()), settings.limits.body_bytes);
        let handshakes = Arc::new(FailedHandshakes::new(&settings));
        let service = Service { client, table, most_bytes, handshakes };
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
    async fn serve(self, _peer: Arc<Peer>, request: Request<Incoming>) -> Response<Body> {
        http::identified(request, |request| async move { self.answer(request).await }).await
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
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
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
        let (head, body) = request.into_parts();
        let body = match self.read(body).await {
            Ok(body) => body,
            Err(error) => return error.into_response(),
        };
        let request = ClientRequest::new(&head, body);
        self.handle(handling, id, &request).await
    }

    async fn read(&self, body: Incoming) -> Result<Bytes, ApiError> {
        let reading = Limited::new(body, self.most_bytes).collect();
        match tokio::time::timeout(BODY_TIMEOUT, reading).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(_)) => {
                let text =
                    format!("The body is longer than {} bytes, or broke off.", self.most_bytes);
                Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid_payload", text))
            }
            Err(_) => {
                let text = "The body took too long to arrive.";
                Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "timeout", text))
            }
        }
    }

    async fn handle(
        &self,
        handling: Handling,
        id: Option<String>,
        request: &ClientRequest,
    ) -> Response<Body> {
        match (handling, id) {
            (Handling::Routed, _) => self.route_job(request).await,
            (Handling::RoutedBatch, _) => self.route_batch(request).await,
            (Handling::ToJob, Some(id)) => self.to_job(&id, request).await,
            (Handling::Settled, _) => self.settle(request).await,
            (Handling::Fetched, _) => self.fetch(request).await,
            (Handling::ToWorkers, _) => self.to_workers(request).await,
            (Handling::Heartbeat, _) => self.heartbeat(request).await,
            (Handling::MergedList, _) => self.list(request).await,
            (Handling::MergedFigures, _) => self.figures(request).await,
            (Handling::Own(own), _) => self.own(own, request),
            (Handling::ToHome | Handling::ToJob | Handling::Refused, _) => {
                self.to_home(request).await
            }
        }
    }

    async fn to_home(&self, request: &ClientRequest) -> Response<Body> {
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

    /// The regions from which workers get jobs.
    pub(crate) fn fetch_regions(&self) -> Vec<String> {
        let settings = self.client.settings();
        match settings.gateway.fetch_regions.is_empty() {
            true => vec![settings.local_region.clone()],
            false => settings.gateway.fetch_regions.clone(),
        }
    }
}

fn refused(path: &str) -> Response<Body> {
    ApiError::unsupported(format!("A gateway does not serve '{path}'."))
        .hint("Send it to the region that it is about; docs/federation.md lists what a gateway serves.")
        .into_response()
}
