//! One of the two servers, with its tenants and workers.

use std::path::Path;
use std::sync::{Arc, MutexGuard};

use rota_client::{Client, Error};
use tokio::task::JoinSet;

use super::load;
use super::server::Server;
use super::tally::{Shared, Tally};
use crate::Failure;

/// Settings of one of the demo's servers.
pub(super) struct Setup {
    pub name: &'static str,
    pub settings: &'static [(&'static str, &'static str)],
}

pub(super) const FAIR: Setup = Setup {
    name: "with fairness",
    settings: &[
        ("ROTA_TENANCY_ISOLATION", "sharded"),
        // Otherwise the tenant that marks everything urgent goes ahead of all others.
        ("ROTA_FAIRNESS_PRIORITY_SCOPE", "tenant"),
    ],
};

pub(super) const UNFAIR: Setup = Setup {
    name: "without fairness",
    settings: &[("ROTA_TENANCY_ISOLATION", "shared"), ("ROTA_FAIRNESS_ENABLED", "false")],
};

pub(super) struct Act {
    setup: &'static Setup,
    server: Server,
    tally: Arc<Shared>,
    tasks: JoinSet<Result<(), Error>>,
}

impl Act {
    pub fn begin(setup: &'static Setup, dir: &Path) -> Result<Self, Failure> {
        let server = Server::start(setup.settings, &dir.join(setup.name))
            .map_err(|error| not_started(setup, &error.to_string()))?;
        Ok(Self { setup, server, tally: Arc::default(), tasks: JoinSet::new() })
    }

    /// Waits until the server is ready.
    pub async fn ready(&mut self) -> Result<Client, Failure> {
        match self.server.url().await {
            Some(url) => Ok(Client::new(&url)?),
            None => Err(not_started(self.setup, &self.server.last_words())),
        }
    }

    /// Starts the tenants and the workers.
    pub fn start(&mut self, client: &Client) -> Result<(), Error> {
        load::start(client, &self.tally, &mut self.tasks)
    }

    pub fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock()
    }

    /// Returns only on failure.
    pub async fn failure(&mut self) -> Failure {
        let cause = match self.tasks.join_next().await {
            Some(Ok(Err(error))) => error.to_string(),
            Some(Err(panic)) => panic.to_string(),
            Some(Ok(Ok(()))) | None => "nobody is left who enqueues or works".to_owned(),
        };
        Failure::error(format!("the demo ended, {}: {cause}", self.setup.name))
            .hint(format!("The server's last words: {}", self.server.last_words()))
    }

    /// Stops the tenants and the workers, then the server.
    pub async fn end(&mut self) {
        self.tasks.shutdown().await;
        self.tally().end();
        self.server.stop().await;
    }
}

fn not_started(setup: &Setup, cause: &str) -> Failure {
    Failure::error(format!("the server {} cannot be started: {cause}", setup.name))
        .hint("Check the temporary directory (TMPDIR), where its data must fit.")
}
