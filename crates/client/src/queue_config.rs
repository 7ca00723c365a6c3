//! The configuration of queues.

use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{Client, Error, WithJson};

/// The configuration of a queue as JSON: `concurrency`, `retention`, `backpressure`, and any other
/// members that the server supports.
pub type QueueConfig = Map<String, Value>;

/// A queue with its configuration.
#[derive(Debug, Clone, Deserialize)]
pub struct ConfiguredQueue {
    /// The queue.
    pub name: String,
    /// The configured members; others have the server's defaults.
    #[serde(default)]
    pub configuration: QueueConfig,
}

impl Client {
    /// Reads the configuration of a queue.
    pub async fn queue_config(&self, name: &str) -> Result<WithJson<ConfiguredQueue>, Error> {
        self.get(self.endpoint(&["admin", "queues", name])).await?.read()
    }

    /// Replaces the configuration of a queue. Omitted members have the server's defaults.
    pub async fn configure_queue(
        &self,
        name: &str,
        config: &QueueConfig,
    ) -> Result<WithJson<ConfiguredQueue>, Error> {
        let endpoint = self.endpoint(&["admin", "queues", name, "config"]);
        self.send_json(Method::PUT, endpoint, config, Duration::ZERO).await?.read()
    }
}
