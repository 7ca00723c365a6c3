//! What a gateway tells about the regions behind it.

use serde::{Deserialize, Serialize};

use crate::{Client, Error, WithJson};

/// The regions behind a gateway.
#[derive(Debug, Clone, Deserialize)]
pub struct GatewayRegions {
    /// How each of them is doing.
    pub regions: Vec<GatewayRegion>,
}

/// A region behind a gateway.
#[derive(Debug, Clone, Deserialize)]
pub struct GatewayRegion {
    /// Its name.
    pub id: String,
    /// The base address of its server.
    pub url: String,
    /// `healthy`, `unhealthy` or `unknown`.
    pub status: String,
    /// `closed`, `open` or `half-open`.
    pub circuit_breaker: String,
    /// Whether it is the gateway's local region.
    #[serde(default)]
    pub local: bool,
    /// The average round trip of its health checks, in milliseconds.
    pub latency_ms: Option<f64>,
    /// Its load.
    pub load: Option<GatewayLoad>,
    /// Its part of all jobs that went through this gateway, from 0 to 1.
    #[serde(default)]
    pub share: f64,
    /// Jobs that had to run there and could not.
    #[serde(default)]
    pub geo_pins_refused: u64,
}

/// The load of a region.
#[derive(Debug, Clone, Deserialize)]
pub struct GatewayLoad {
    /// Jobs that wait.
    pub waiting: u64,
    /// Jobs that run.
    pub active: u64,
}

/// Where a job would go.
#[derive(Debug, Clone, Deserialize)]
pub struct GatewayRoute {
    /// The region; `None` if it would go nowhere.
    pub target_region: Option<String>,
    /// How the region is chosen.
    pub strategy: String,
    /// Why it would go nowhere.
    pub reason: Option<String>,
    /// All regions, best first.
    pub candidates: Vec<GatewayCandidate>,
}

/// A region as a candidate for a job.
#[derive(Debug, Clone, Deserialize)]
pub struct GatewayCandidate {
    /// Its name.
    pub id: String,
    /// 1 for the best, 0 for those that cannot have the job.
    pub score: f64,
    /// Why it is where it is.
    pub reason: String,
}

impl Client {
    /// How the regions behind a gateway are doing.
    pub async fn gateway_regions(&self) -> Result<WithJson<GatewayRegions>, Error> {
        self.get(self.endpoint(&["federation", "regions"])).await?.read()
    }

    /// Where a gateway would send a job, and why.
    pub async fn gateway_route(
        &self,
        job: &impl Serialize,
    ) -> Result<WithJson<GatewayRoute>, Error> {
        self.post(self.endpoint(&["federation", "route"]), job).await?.read()
    }
}
