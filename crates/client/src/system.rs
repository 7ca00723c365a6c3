use serde::Deserialize;

use crate::{Client, Error, Kept};

/// How the server is.
#[derive(Debug, Clone, Deserialize)]
pub struct Health {
    /// `ok` or `degraded`.
    pub status: String,
    /// The version of the specification.
    pub version: Option<String>,
    pub server_version: Option<String>,
    pub uptime_seconds: Option<u64>,
    pub active_jobs: Option<u64>,
    pub workers: Option<u64>,
    pub backend: Option<Backend>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Backend {
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub status: Option<String>,
    pub latency_ms: Option<u64>,
}

/// What the server is and can do.
#[derive(Debug, Clone, Deserialize)]
pub struct Manifest {
    pub implementation: Implementation,
    pub conformance_level: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Implementation {
    pub name: String,
    pub version: Option<String>,
}

impl Client {
    /// Also a server that is not well answers this.
    pub async fn health(&self) -> Result<Kept<Health>, Error> {
        self.get(self.at(&["health"])).await?.read_any()
    }

    pub async fn manifest(&self) -> Result<Kept<Manifest>, Error> {
        self.get(self.outside(&["ojs", "manifest"])).await?.read()
    }
}
