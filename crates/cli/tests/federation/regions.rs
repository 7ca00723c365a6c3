//! Three regions and a client of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rota_client::NewJob;
use rota_client::federation::{Event, FederatedClient, Settings};
use serde_json::{Value, json};

use crate::support::Server;

pub const IDS: [&str; 3] = ["eu", "us", "ap"];

/// Three real servers. `eu` is the local region.
pub struct Regions {
    pub servers: Vec<Server>,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Regions {
    pub fn start() -> Self {
        let servers = IDS.iter().map(|_| Server::start_apart(&[])).collect();
        Self { servers, events: Arc::default() }
    }

    pub fn server(&mut self, id: &str) -> &mut Server {
        let place = IDS.iter().position(|known| *known == id).unwrap();
        &mut self.servers[place]
    }

    /// The settings, quick enough for tests, with these members changed.
    pub fn settings(&self, changed: Value) -> Settings {
        let regions: Vec<Value> = IDS
            .iter()
            .zip(&self.servers)
            .map(|(id, server)| json!({"id": id, "url": server.url("")}))
            .collect();
        let mut settings = json!({
            "local_region": "eu",
            "regions": regions,
            "request_timeout_seconds": 1,
            "connect_timeout_seconds": 1,
            "reconcile_for_seconds": 5,
            "health_check": {"interval_seconds": 1, "timeout_seconds": 1},
            "load": {"interval_seconds": 1},
            "circuit_breaker": {"failure_threshold": 3, "cooldown_seconds": 1},
        });
        for (name, value) in changed.as_object().unwrap() {
            settings[name] = value.clone();
        }
        Settings::from_json(&settings.to_string(), "the test").unwrap()
    }

    pub fn client(&self, changed: Value) -> FederatedClient {
        self.client_of(self.settings(changed))
    }

    pub fn client_of(&self, settings: Settings) -> FederatedClient {
        let events = self.events.clone();
        let tell = move |event: &Event| events.lock().unwrap().push(event.clone());
        FederatedClient::with_events(settings, tell).unwrap()
    }

    pub fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    /// Stops a region's process, and waits until it has stopped.
    pub async fn freeze(&mut self, id: &str) {
        let server = self.server(id);
        server.signal("STOP");
        let stat = format!("/proc/{}/stat", server.pid());
        let stopped = || {
            let text = std::fs::read_to_string(&stat).unwrap();
            text.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
        };
        until(stopped).await;
    }

    /// How many copies of a job there are.
    pub fn copies(&self, id: &str) -> usize {
        let path = format!("/ojs/v1/jobs/{id}");
        self.servers.iter().filter(|server| server.get(&path).status == 200).count()
    }
}

pub fn job() -> NewJob {
    NewJob::new("a.b").arg(1)
}

pub fn pinned(region: &str) -> NewJob {
    job().meta("ojs.federation.region", region)
}

/// Waits until it is true, at most a minute.
pub async fn until(mut see: impl FnMut() -> bool) {
    let waiting = async {
        while !see() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it happens");
}

pub async fn healthy(client: &FederatedClient, id: &str, healthy: bool) {
    let is = || {
        let regions = client.regions();
        let region = regions.iter().find(|region| region.id == id).unwrap();
        region.checked.is_some() && region.healthy == healthy
    };
    until(is).await;
}
