//! The overview of a server: readiness, totals, maintenance mode and settings.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use crate::{Client, Counts, Error, WithJson};

/// Whether the server is ready, and the time by its clock.
#[derive(Debug, Clone)]
pub struct Readiness {
    /// Whether the server accepts jobs.
    pub ready: bool,
    /// As in the header `Date`: whole seconds.
    pub date: Option<String>,
}

/// Totals over all queues.
#[derive(Debug, Clone, Deserialize)]
pub struct Totals {
    /// Jobs in each state, over all queues.
    pub jobs: Counts,
    /// Workers that the server knows.
    #[serde(default)]
    pub workers: u64,
    /// Fetches that wait for a job.
    #[serde(default)]
    pub waiting_fetches: u64,
}

/// Maintenance mode, in which the server dispatches no jobs.
#[derive(Debug, Clone, Deserialize)]
pub struct Maintenance {
    /// Whether maintenance mode is on.
    pub maintenance: bool,
    /// The operator's reason.
    pub reason: Option<String>,
    /// When it began.
    pub enabled_at: Option<String>,
    /// When the operator expects it to end.
    pub estimated_end: Option<String>,
}

/// The settings that the server was started with, by their keys.
#[derive(Debug, Clone, Deserialize)]
pub struct ServerSettings {
    /// The absolute path of the data directory, on the server's machine.
    pub data_directory: Option<String>,
    /// Every setting in force, by its key.
    pub config: BTreeMap<String, String>,
}

impl Client {
    /// Reads whether the server is ready. A server that is not ready is not an error.
    pub async fn readiness(&self) -> Result<Readiness, Error> {
        let answer = self.get(self.unversioned_endpoint(&["ready"])).await?;
        Ok(Readiness { ready: answer.status == 200, date: answer.date })
    }

    /// Reads the totals over all queues.
    pub async fn totals(&self) -> Result<WithJson<Totals>, Error> {
        self.get(self.endpoint(&["admin", "stats"])).await?.read()
    }

    /// Whether the server is in maintenance.
    pub async fn maintenance(&self) -> Result<WithJson<Maintenance>, Error> {
        self.get(self.endpoint(&["admin", "system", "maintenance"])).await?.read()
    }

    /// Turns maintenance mode on or off. The reason and the expected duration (ISO 8601) are for people.
    pub async fn set_maintenance(
        &self,
        enabled: bool,
        reason: Option<&str>,
        expected: Option<&str>,
    ) -> Result<WithJson<Maintenance>, Error> {
        let mut body = json!({"enabled": enabled});
        if let Some(reason) = reason {
            body["reason"] = json!(reason);
        }
        if let Some(expected) = expected {
            body["estimated_duration"] = json!(expected);
        }
        self.post(self.endpoint(&["admin", "system", "maintenance"]), &body).await?.read()
    }

    /// The settings that the server runs with.
    pub async fn server_settings(&self) -> Result<WithJson<ServerSettings>, Error> {
        self.get(self.endpoint(&["admin", "system", "config"])).await?.read()
    }
}
