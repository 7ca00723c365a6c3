//! Pools: groups of workers that share queues, a strategy and a bound.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{PoolConfig, PoolName, QueueName};
use serde::{Deserialize, Serialize};

use crate::Origin;
use crate::meters::Lately;
use crate::sched::Rotation;

#[derive(Default)]
pub(crate) struct Pools {
    all: BTreeMap<PoolName, Pool>,
    /// Queues that are kept for pools, with those pools.
    isolated: BTreeMap<QueueName, Vec<PoolName>>,
    /// Pools without room, of which that is to be said as soon as a job waits.
    pub brimful: BTreeSet<PoolName>,
}

pub(crate) struct Pool {
    /// What was said through the API; it wins over the file.
    pub api: Option<PoolConfig>,
    pub file: Option<PoolConfig>,
    pub active: u64,
    pub rotation: Rotation,
    /// Jobs handed out to its workers.
    pub lately: Lately,
    /// It was said that it has no room left while jobs wait.
    pub told_full: bool,
}

/// What is kept of a pool on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PoolRow {
    pub config: PoolConfig,
}

impl Pool {
    fn new() -> Self {
        Self {
            api: None,
            file: None,
            active: 0,
            rotation: Rotation::default(),
            lately: Lately::default(),
            told_full: false,
        }
    }

    pub fn config(&self) -> &PoolConfig {
        self.api.as_ref().or(self.file.as_ref()).expect("a pool has a configuration")
    }

    pub fn origin(&self) -> Origin {
        if self.api.is_some() { Origin::Api } else { Origin::File }
    }

    /// How many more jobs its workers may have.
    pub fn room(&self) -> u64 {
        let most = self.config().concurrency;
        most.map_or(u64::MAX, |most| u64::from(most).saturating_sub(self.active))
    }

    /// Whether the queue, as its tenant calls it, is among its own.
    pub fn has(&self, queue: &QueueName) -> bool {
        self.config().queues.iter().any(|own| **own == *queue.local())
    }
}

impl Pools {
    pub fn get(&self, name: &str) -> Option<&Pool> {
        self.all.get(name)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Pool> {
        self.all.get_mut(name)
    }

    pub fn put_file(&mut self, name: PoolName, config: PoolConfig) {
        self.all.entry(name).or_insert_with(Pool::new).file = Some(config);
        self.find_isolated();
    }

    pub fn put_api(&mut self, name: PoolName, config: PoolConfig) {
        self.all.entry(name).or_insert_with(Pool::new).api = Some(config);
        self.find_isolated();
    }

    /// Forgets what was said through the API; the pool stays if the configuration has it.
    pub fn remove_api(&mut self, name: &str) {
        if let Some(pool) = self.all.get_mut(name) {
            pool.api = None;
            if pool.file.is_none() {
                self.all.remove(name);
            }
        }
        self.find_isolated();
    }

    fn find_isolated(&mut self) {
        self.isolated.clear();
        for (name, pool) in self.all.iter().filter(|(_, pool)| pool.config().isolated) {
            for queue in &pool.config().queues {
                self.isolated.entry(queue.clone()).or_default().push(name.clone());
            }
        }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&PoolName, &Pool)> {
        self.all.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Pool> {
        self.all.values_mut()
    }

    /// Whether a queue is kept for pools that this one is not among.
    pub fn shuts_out(&self, pool: Option<&PoolName>, queue: &QueueName) -> bool {
        let kept_for =
            if self.isolated.is_empty() { None } else { self.isolated.get(queue.local()) };
        kept_for.is_some_and(|pools| !pools.iter().any(|name| Some(name) == pool))
    }
}
