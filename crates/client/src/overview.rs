//! What an operator looks at first.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{Client, Counts, Error, Kept};

/// Whether the server takes requests, and the time by its own clock.
#[derive(Debug, Clone)]
pub struct Readiness {
    pub ready: bool,
    /// As in the header `Date`: whole seconds.
    pub date: Option<String>,
}

/// All queues together.
#[derive(Debug, Clone, Deserialize)]
pub struct Totals {
    pub jobs: Counts,
    #[serde(default)]
    pub workers: u64,
    /// Fetches that wait for a job.
    #[serde(default)]
    pub waiting_fetches: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Maintenance {
    /// Whether the server hands out no jobs.
    pub maintenance: bool,
    pub reason: Option<String>,
    pub enabled_at: Option<String>,
    pub estimated_end: Option<String>,
}

/// The settings that the server was started with, by their keys.
#[derive(Debug, Clone, Deserialize)]
pub struct ServerSettings {
    pub config: BTreeMap<String, String>,
}

impl Client {
    pub async fn readiness(&self) -> Result<Readiness, Error> {
        let answer = self.get(self.outside(&["ready"])).await?;
        Ok(Readiness { ready: answer.status == 200, date: answer.date })
    }

    pub async fn totals(&self) -> Result<Kept<Totals>, Error> {
        self.get(self.at(&["admin", "stats"])).await?.read()
    }

    pub async fn maintenance(&self) -> Result<Kept<Maintenance>, Error> {
        self.get(self.at(&["admin", "system", "maintenance"])).await?.read()
    }

    pub async fn server_settings(&self) -> Result<Kept<ServerSettings>, Error> {
        self.get(self.at(&["admin", "system", "config"])).await?.read()
    }
}
