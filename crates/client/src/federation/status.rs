//! How the regions are doing, for people.

use std::time::Duration;

use rota_federation::{Circuit, Load};

use super::connection::FederatedClient;

/// How a region is doing.
#[derive(Debug, Clone, PartialEq)]
pub struct RegionStatus {
    /// Its name.
    pub id: String,
    /// The base address of its server.
    pub url: String,
    /// Its weight.
    pub weight: u32,
    /// Its tags.
    pub tags: Vec<String>,
    /// Whether it is the local region.
    pub local: bool,
    /// Whether new jobs are sent there.
    pub healthy: bool,
    /// The state of its circuit breaker.
    pub circuit: Circuit,
    /// Consecutive failures.
    pub failures: u32,
    /// The average round trip of its health checks, in milliseconds.
    pub latency_ms: Option<f64>,
    /// How long ago it was checked.
    pub checked: Option<Duration>,
    /// Its load.
    pub load: Option<Load>,
    /// Whether it answered lately that it is full.
    pub full: bool,
}

impl FederatedClient {
    /// How all regions are doing.
    #[must_use]
    pub fn regions(&self) -> Vec<RegionStatus> {
        let now = self.shared.now();
        let regions = self.shared.regions();
        let federation = &regions.federation;
        let status = |place| {
            let (region, observed) =
                (federation.registry().region(place), federation.observed(place));
            RegionStatus {
                id: region.id.to_string(),
                url: region.url.clone(),
                weight: region.weight,
                tags: region.tags.clone(),
                local: place == federation.local(),
                healthy: observed.is_healthy(now),
                circuit: observed.circuit(now),
                failures: observed.breaker().failures(),
                latency_ms: observed.latency().ms(),
                checked: observed.check().map(|check| now.since(check.at)),
                load: observed.load().map(|(load, _)| load),
                full: observed.is_full(now),
            }
        };
        federation.registry().indexes().map(status).collect()
    }
}
