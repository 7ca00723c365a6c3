//! Health and capabilities of the server.

use serde::Deserialize;

use crate::{Client, Error, WithJson};

/// The health of the server.
#[derive(Debug, Clone, Deserialize)]
pub struct Health {
    /// `ok` or `degraded`.
    pub status: String,
    /// The version of the specification.
    pub version: Option<String>,
    /// The version of the server program.
    pub server_version: Option<String>,
    /// Time since it started, in seconds.
    pub uptime_seconds: Option<u64>,
    /// Jobs that run now, over all queues.
    pub active_jobs: Option<u64>,
    /// Workers that the server knows.
    pub workers: Option<u64>,
    /// The server's store.
    pub backend: Option<Backend>,
}

/// The store behind a server.
#[derive(Debug, Clone, Deserialize)]
pub struct Backend {
    /// Such as `sqlite`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// `ok`, or what is wrong, such as `full`.
    pub status: Option<String>,
    /// How long the store took to answer, in milliseconds.
    pub latency_ms: Option<u64>,
}

/// The capabilities of the server.
#[derive(Debug, Clone, Deserialize)]
pub struct Manifest {
    /// The server program.
    pub implementation: Implementation,
    /// The highest level of OJS that is served completely, from 0 to 4.
    pub conformance_level: Option<u64>,
}

/// A server program.
#[derive(Debug, Clone, Deserialize)]
pub struct Implementation {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
}

impl Client {
    /// Reads the health of the server, even if it is degraded.
    pub async fn health(&self) -> Result<WithJson<Health>, Error> {
        self.get(self.endpoint(&["health"])).await?.read_any()
    }

    /// Reads the health of the server and the status of the answer.
    pub(crate) async fn health_with_status(&self) -> Result<(u16, Health), Error> {
        let answer = self.get(self.endpoint(&["health"])).await?;
        Ok((answer.status, answer.read_any()?))
    }

    /// What the server supports.
    pub async fn manifest(&self) -> Result<WithJson<Manifest>, Error> {
        self.get(self.unversioned_endpoint(&["ojs", "manifest"])).await?.read()
    }
}
