//! The configuration of queues.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{Client, Error, WithJson};

/// What is configured for a queue, as JSON: `concurrency`, `retention`, `backpressure`, and whatever
/// else the server knows.
pub type QueueConfig = Map<String, Value>;

/// A queue with what an operator configured for it.
#[derive(Debug, Clone, Deserialize)]
pub struct ConfiguredQueue {
    /// The queue.
    pub name: String,
    /// Only what was set; the rest follows the server's defaults.
    #[serde(default)]
    pub configuration: QueueConfig,
}

impl Client {
    /// What is configured for a queue.
    pub async fn queue_config(&self, name: &str) -> Result<WithJson<ConfiguredQueue>, Error> {
        self.get(self.endpoint(&["admin", "queues", name])).await?.read()
    }

    /// Replaces all that is configured; what is left out follows the server.
    pub async fn configure_queue(
        &self,
        name: &str,
        config: &QueueConfig,
    ) -> Result<WithJson<ConfiguredQueue>, Error> {
        let endpoint = self.endpoint(&["admin", "queues", name, "config"]);
        self.send_json(Method::PUT, endpoint, config, Duration::ZERO).await?.read()
    }
}
