//! A pool: workers that share queues, a strategy and a concurrency limit.

use std::collections::BTreeMap;

use rota_model::{PoolConfig, QueueName};
use serde::{Deserialize, Serialize};

use crate::ConfigOrigin;
use crate::tenant::TenantIx;

/// A pool's configuration and its active jobs.
pub(crate) struct Pool {
    /// Set through the API; it takes precedence over the file.
    pub api: Option<PoolConfig>,
    pub file: Option<PoolConfig>,
    pub slots: Slots,
    /// Rotations made for another version are out of date.
    pub version: u64,
}

/// The active jobs of a pool.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    pub active: u64,
    by_tenant: BTreeMap<TenantIx, u64>,
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

impl Slots {
    /// The active jobs of one tenant.
    pub fn of(&self, tenant: TenantIx) -> u64 {
        self.by_tenant.get(&tenant).copied().unwrap_or(0)
    }

    pub(super) fn add(&mut self, tenant: TenantIx) {
        self.active += 1;
        *self.by_tenant.entry(tenant).or_default() += 1;
    }

    pub(super) fn remove(&mut self, tenant: TenantIx) {
        self.active = self.active.saturating_sub(1);
        if let Some(active) = self.by_tenant.get_mut(&tenant) {
            *active -= 1;
            if *active == 0 {
                self.by_tenant.remove(&tenant);
            }
        }
    }
}

impl Pool {
    /// A pool without configuration, which the caller sets at once.
    pub(super) fn new(slots: Slots) -> Self {
        Self { api: None, file: None, slots, version: 0 }
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
        most.map_or(u64::MAX, |most| u64::from(most).saturating_sub(self.slots.active))
    }

    /// Whether the pool serves this queue. A pool's configuration has names without a tenant's
    /// namespace.
    pub fn has(&self, queue: &QueueName) -> bool {
        self.config().queues.iter().any(|name| **name == *queue.local())
    }
}
