//! Pools: groups of workers that share queues, a strategy and a concurrency limit.

use std::collections::BTreeMap;
use std::ops::Bound;

use rota_model::{PoolConfig, PoolName, QueueName};
use serde::{Deserialize, Serialize};

use crate::ConfigOrigin;

/// All pools.
#[derive(Default)]
pub(crate) struct Pools {
    all: BTreeMap<PoolName, Pool>,
    /// Queues that isolated pools reserve, with those pools.
    isolated: BTreeMap<QueueName, Vec<PoolName>>,
    /// The last version given to a pool.
    versions: u64,
}

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
    /// Active jobs of a pool of this name, used if the pool is new.
    pub active: u64,
}

/// A pool as stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PoolRow {
    pub config: PoolConfig,
}

impl Pool {
    fn new() -> Self {
        Self { api: None, file: None, active: 0, version: 0 }
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

impl Pools {
    pub fn get(&self, name: &str) -> Option<&Pool> {
        self.all.get(name)
    }

    /// Creates or changes a pool, or removes it if no configuration is left.
    pub fn put(&mut self, name: PoolName, change: PoolChange) {
        let pool = self.all.entry(name.clone()).or_insert_with(Pool::new);
        if pool.version == 0 {
            pool.active = change.active;
        }
        match change.origin {
            ConfigOrigin::File => pool.file = change.config,
            _ => pool.api = change.config,
        }
        self.versions += 1;
        pool.version = self.versions;
        if pool.file.is_none() && pool.api.is_none() {
            self.all.remove(&name);
        }
        self.find_isolated();
    }

    /// A new queue may be one that pools name.
    pub fn queue_created(&mut self, name: &QueueName) {
        for pool in self.all.values_mut().filter(|pool| pool.has(name)) {
            self.versions += 1;
            pool.version = self.versions;
        }
    }

    /// Whether fetches of this pool, or without a pool, may have more jobs.
    pub fn has_room(&self, pool: Option<&PoolName>) -> bool {
        pool.and_then(|name| self.all.get(name)).is_none_or(|pool| pool.room() > 0)
    }

    pub fn started(&mut self, name: &PoolName) {
        if let Some(pool) = self.all.get_mut(name) {
            pool.active += 1;
        }
    }

    /// A job of a pool ended. Returns whether the pool was full and has room now.
    pub fn ended(&mut self, name: &PoolName) -> bool {
        let Some(pool) = self.all.get_mut(name) else { return false };
        let was_full = pool.room() == 0;
        pool.active = pool.active.saturating_sub(1);
        was_full && pool.room() > 0
    }

    /// Finds the queues that isolated pools reserve. If they changed, all rotations of pools are out
    /// of date.
    fn find_isolated(&mut self) {
        let before = std::mem::take(&mut self.isolated);
        for (name, pool) in self.all.iter().filter(|(_, pool)| pool.config().isolated) {
            for queue in &pool.config().queues {
                self.isolated.entry(queue.clone()).or_default().push(name.clone());
            }
        }
        if self.isolated != before {
            for pool in self.all.values_mut() {
                self.versions += 1;
                pool.version = self.versions;
            }
        }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&PoolName, &Pool)> {
        self.all.iter()
    }

    /// Pools after this name, in order.
    pub fn after(&self, name: &str) -> impl Iterator<Item = (&PoolName, &Pool)> {
        self.all.range::<str, _>((Bound::Excluded(name), Bound::Unbounded))
    }

    /// Whether fetches of this pool, or without a pool, may be served from a queue.
    pub fn may_serve(&self, pool: Option<&PoolName>, queue: &QueueName) -> bool {
        let is_in_pool =
            pool.and_then(|name| self.all.get(name)).is_none_or(|pool| pool.has(queue));
        is_in_pool && !self.shuts_out(pool, queue)
    }

    /// Whether a queue is reserved for other pools.
    pub fn shuts_out(&self, pool: Option<&PoolName>, queue: &QueueName) -> bool {
        let kept_for =
            if self.isolated.is_empty() { None } else { self.isolated.get(queue.local()) };
        kept_for.is_some_and(|pools| !pools.iter().any(|name| Some(name) == pool))
    }
}
