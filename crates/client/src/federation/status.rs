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
    /// Jobs of this client that it has taken.
    pub jobs: u64,
    /// Its part of all jobs of this client, from 0 to 1.
    pub share: f64,
    /// Jobs that had to run there and could not.
    pub pins_refused: u64,
}

impl FederatedClient {
    /// How all regions are doing.
    #[must_use]
    pub fn regions(&self) -> Vec<RegionStatus> {
        let now = self.shared.now();
        let regions = self.shared.regions();
        let federation = &regions.federation;
        let all: u64 =
            federation.registry().indexes().map(|at| federation.observed(at).taken()).sum();
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
                jobs: observed.taken(),
                share: if all == 0 { 0.0 } else { observed.taken() as f64 / all as f64 },
                pins_refused: observed.pins_refused(),
            }
        };
        federation.registry().indexes().map(status).collect()
    }
}
