//! A pool: workers that share queues, a strategy and a concurrency limit.

use rota_model::{PoolConfig, QueueName};
use serde::{Deserialize, Serialize};

use crate::ConfigOrigin;

/// A pool's configuration and its active jobs.
pub(crate) struct Pool {
    /// Set through the API; it takes precedence over the file.
    pub api: Option<PoolConfig>,
    pub file: Option<PoolConfig>,
    pub active: u64,
    /// Rotations made for another version are out of date.
    pub version: u64,
}

/// A change of a pool, in the configuration file or through the API.
#[derive(Debug)]
pub(crate) struct PoolChange {
    pub origin: ConfigOrigin,
    /// `None` removes the configuration of this origin.
    pub config: Option<PoolConfig>,
}

/// A pool as stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PoolRow {
    pub config: PoolConfig,
}

impl Pool {
    /// A pool without configuration, which the caller sets at once.
    pub(super) fn new(active: u64) -> Self {
        Self { api: None, file: None, active, version: 0 }
    }

    pub fn config(&self) -> &PoolConfig {
        self.api.as_ref().or(self.file.as_ref()).expect("a pool has a configuration")
    }

    pub fn origin(&self) -> ConfigOrigin {
        if self.api.is_some() { ConfigOrigin::Api } else { ConfigOrigin::File }
    }

    /// How many more jobs its workers may have.
    pub fn room(&self) -> u64 {
        let most = self.config().concurrency;
        most.map_or(u64::MAX, |most| u64::from(most).saturating_sub(self.active))
    }

    /// Whether the pool serves this queue. A pool's configuration has names without a tenant's
    /// namespace.
    pub fn has(&self, queue: &QueueName) -> bool {
        self.config().queues.iter().any(|name| **name == *queue.local())
    }
}
