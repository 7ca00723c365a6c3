//! The three servers and what happens to them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use rota_client::federation::{FederatedClient, RegionStatus, Settings};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::load;
use super::tally::{IDS, Shared, Tally};
use crate::Failure;
use crate::commands::demo::server::Server;

/// How long workers have at the end to run what was enqueued.
const LAST_ORDERS: Duration = Duration::from_secs(5);

pub(super) struct Stage {
    data: PathBuf,
    servers: Vec<Server>,
    address: String,
    client: FederatedClient,
    tally: Arc<Shared>,
    producer: JoinSet<()>,
    workers: JoinSet<()>,
}

impl Stage {
    pub async fn start(data: &Path) -> Result<Self, Failure> {
        let (mut servers, mut urls) = (Vec::new(), Vec::new());
        for id in IDS {
            let failed = |cause: String| {
                Failure::error(format!("the server of {id} cannot be started: {cause}"))
                    .hint("Check the temporary directory (TMPDIR), where its data must fit.")
            };
            let settings = [("ROTA_FEDERATION_REGION", id)];
            let mut server = Server::start(&settings, &data.join(id))
                .map_err(|error| failed(error.to_string()))?;
            match server.url().await {
                Some(url) => urls.push(url),
                None => return Err(failed(server.last_words())),
            }
            servers.push(server);
        }
        let tally = Arc::new(Shared::new());
        let heard = tally.clone();
        let client = FederatedClient::with_events(settings(&urls)?, move |event| heard.hear(event))
            .map_err(|error| Failure::error(error.to_string()))?;
        let address = urls[0].trim_start_matches("http://").to_owned();
        let (mut producer, mut workers) = (JoinSet::new(), JoinSet::new());
        load::start_enqueueing(&client, &tally, &mut producer);
        load::start_working(&client, &tally, &mut workers);
        Ok(Self { data: data.to_owned(), servers, address, client, tally, producer, workers })
    }

    /// Kills the first region and starts it again, each in its time.
    pub async fn direct(&mut self, passed: Duration, of: Duration) -> Result<(), Failure> {
        let (killed, back) = {
            let tally = self.tally.lock();
            (tally.killed.is_some(), tally.back.is_some())
        };
        if !killed && passed >= of / 4 {
            self.servers[0].kill().await;
            self.tally.lock().killed = Some(passed);
            self.tally.note(format!("{} is killed", IDS[0]));
        } else if killed && !back && passed >= of * 5 / 8 {
            let settings = [("ROTA_FEDERATION_REGION", IDS[0])];
            let server = Server::start_listening(&self.address, &settings, &self.data.join(IDS[0]));
            let failed = |cause: String| {
                Failure::error(format!("{} cannot be started again: {cause}", IDS[0]))
            };
            self.servers[0] = server.map_err(|error| failed(error.to_string()))?;
            if self.servers[0].url().await.is_none() {
                return Err(failed(self.servers[0].last_words()));
            }
            self.tally.lock().back = Some(passed);
            self.tally.note(format!("{} is started again", IDS[0]));
        }
        Ok(())
    }

    pub fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock()
    }

    pub fn regions(&self) -> Vec<RegionStatus> {
        self.client.regions()
    }

    /// Stops enqueueing, lets the workers run what is there, and stops the servers.
    pub async fn end(&mut self) {
        self.producer.shutdown().await;
        let until = Instant::now() + LAST_ORDERS;
        while self.tally.lock().waiting() > 0 && Instant::now() < until {
            sleep(Duration::from_millis(50)).await;
        }
        self.workers.shutdown().await;
        for server in &mut self.servers {
            server.stop().await;
        }
    }
}

/// Quick enough to be watched.
fn settings(urls: &[String]) -> Result<Settings, Failure> {
    let regions: Vec<Value> =
        IDS.iter().zip(urls).map(|(id, url)| json!({"id": id, "url": url})).collect();
    let settings = json!({
        "local_region": IDS[0],
        "regions": regions,
        "on_ambiguous": "send",
        "request_timeout_seconds": 2,
        "connect_timeout_seconds": 1,
        "reconcile_for_seconds": 5,
        "health_check": {"interval_seconds": 1, "timeout_seconds": 1},
        "circuit_breaker": {"failure_threshold": 3, "cooldown_seconds": 1},
        "failover": {"prefer_regions": [IDS[1]]},
    });
    Settings::from_json(&settings.to_string(), "the demo")
        .map_err(|error| Failure::error(error.to_string()))
}
