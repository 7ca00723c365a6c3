//! Counts of workers by state, of all, by tenant and by pool.

use std::collections::BTreeMap;

use rota_model::{Directive, PoolName, TenantId};

use crate::WorkerState;

/// What a worker is counted as.
#[derive(Debug)]
pub(crate) struct CountedAs {
    pub state: WorkerState,
    pub pool: Option<PoolName>,
    /// Takes jobs: neither stale nor quieted.
    pub takes: bool,
    /// Takes jobs, and holds as many as it may.
    pub full: bool,
}

/// Workers by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkerCounts {
    pub running: usize,
    pub quiet: usize,
    pub terminate: usize,
    pub stale: usize,
}

impl WorkerCounts {
    #[must_use]
    pub fn all(self) -> usize {
        self.running + self.quiet + self.terminate + self.stale
    }

    /// Counts by the name of the state, sorted.
    #[must_use]
    pub fn by_state(self) -> [(&'static str, usize); 4] {
        let Self { running, quiet, terminate, stale } = self;
        [("quiet", quiet), ("running", running), ("stale", stale), ("terminate", terminate)]
    }

    fn get_mut(&mut self, state: WorkerState) -> &mut usize {
        match state {
            WorkerState::Is(Directive::Running) => &mut self.running,
            WorkerState::Is(Directive::Quiet) => &mut self.quiet,
            WorkerState::Is(Directive::Terminate) => &mut self.terminate,
            WorkerState::Stale => &mut self.stale,
        }
    }
}

/// A pool's workers that are not stale.
#[derive(Debug, Default)]
struct PoolWorkers {
    present: usize,
    taking: usize,
    full: usize,
}

#[derive(Default)]
pub(crate) struct WorkerTallies {
    all: WorkerCounts,
    by_tenant: BTreeMap<TenantId, WorkerCounts>,
    by_pool: BTreeMap<PoolName, PoolWorkers>,
}

impl WorkerTallies {
    pub fn add(&mut self, owner: Option<&str>, counted: &CountedAs) {
        *self.all.get_mut(counted.state) += 1;
        if let Some(owner) = owner.and_then(|id| TenantId::parse(id).ok()) {
            *self.by_tenant.entry(owner).or_default().get_mut(counted.state) += 1;
        }
        if let Some(pool) = counted.pool_of_present() {
            let workers = self.by_pool.entry(pool.clone()).or_default();
            workers.present += 1;
            workers.taking += usize::from(counted.takes);
            workers.full += usize::from(counted.full);
        }
    }

    pub fn remove(&mut self, owner: Option<&str>, counted: &CountedAs) {
        *self.all.get_mut(counted.state) -= 1;
        if let Some(owner) = owner
            && let Some(counts) = self.by_tenant.get_mut(owner)
        {
            *counts.get_mut(counted.state) -= 1;
            if counts.all() == 0 {
                self.by_tenant.remove(owner);
            }
        }
        if let Some(pool) = counted.pool_of_present()
            && let Some(workers) = self.by_pool.get_mut(pool)
        {
            workers.present -= 1;
            workers.taking -= usize::from(counted.takes);
            workers.full -= usize::from(counted.full);
            if workers.present == 0 {
                self.by_pool.remove(pool);
            }
        }
    }

    pub fn counts(&self, tenant: Option<&TenantId>) -> WorkerCounts {
        match tenant {
            None => self.all,
            Some(id) => self.by_tenant.get(id).copied().unwrap_or_default(),
        }
    }

    /// A pool's workers that are not stale.
    pub fn in_pool(&self, pool: &PoolName) -> usize {
        self.by_pool.get(pool).map_or(0, |workers| workers.present)
    }

    /// Whether all workers of a pool that take jobs are full.
    pub fn are_full(&self, pool: &PoolName) -> bool {
        self.by_pool
            .get(pool)
            .is_some_and(|workers| workers.taking > 0 && workers.full == workers.taking)
    }
}

impl CountedAs {
    fn pool_of_present(&self) -> Option<&PoolName> {
        self.pool.as_ref().filter(|_| self.state != WorkerState::Stale)
    }
}
