//! Workers that have made themselves known.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{Directive, Millis, PoolName, TenantId, WorkerId};
use serde::{Deserialize, Serialize};

use crate::{Asker, Cap, CapCounter, CapReached, Capped, Registration, WorkerState};

pub(crate) struct Workers {
    owned: CapCounter,
    all: BTreeMap<WorkerId, Worker>,
    /// When to look at a worker again. A worker that was heard of since is simply put off.
    checks: BTreeSet<(u64, WorkerId)>,
    crews: BTreeMap<PoolName, Crew>,
}

/// The workers of a pool that take jobs.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Crew {
    workers: usize,
    /// Those of them that have as many as they may have.
    full: usize,
}

#[derive(Debug)]
pub(crate) struct Worker {
    pub row: WorkerRow,
    /// What it last said of itself.
    pub reported: Option<Directive>,
    pub last_seen: Millis,
    pub last_seen_mono: u64,
    pub stale: bool,
    /// The crew that it is counted in, and whether as one that is full.
    counted: Option<(PoolName, bool)>,
}

/// What is kept of a worker on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerRow {
    pub about: Registration,
    pub since: Millis,
    pub directive: Option<Directive>,
    /// It sends heartbeats, so silence means something.
    pub beats: bool,
}

impl Worker {
    pub fn new(row: WorkerRow, last_seen: Millis, last_seen_mono: u64) -> Self {
        Self { row, reported: None, last_seen, last_seen_mono, stale: false, counted: None }
    }

    /// It was told to take no more jobs, or says that it takes none.
    pub fn is_quieted(&self) -> bool {
        self.row.directive.max(self.reported) > Some(Directive::Running)
    }

    /// Whether somebody may change it: an operator may, and the tenant that it was first met for.
    pub fn answers_to(&self, tenant: Option<&TenantId>) -> bool {
        tenant.is_none() || tenant == self.row.about.tenant.as_ref()
    }

    pub fn directive(&self) -> Directive {
        self.row.directive.unwrap_or(Directive::Running)
    }

    pub fn state(&self) -> WorkerState {
        match self.reported {
            _ if self.stale => WorkerState::Stale,
            Some(reported) => WorkerState::Is(reported.max(self.directive())),
            None => WorkerState::Is(self.directive()),
        }
    }

    /// How many more jobs it may have, when it holds so many.
    pub fn room(&self, held: usize) -> usize {
        match self.row.about.concurrency {
            Some(most) => (most as usize).saturating_sub(held),
            None => usize::MAX,
        }
    }
}

impl Workers {
    pub fn new(cap: Cap) -> Self {
        Self {
            owned: CapCounter::new(Capped::Workers, cap),
            all: BTreeMap::new(),
            checks: BTreeSet::new(),
            crews: BTreeMap::new(),
        }
    }

    /// Whether one more may come.
    pub fn check_cap(&self, asker: Asker<'_>) -> Result<(), CapReached> {
        self.owned.check(asker)
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn get(&self, id: &WorkerId) -> Option<&Worker> {
        self.all.get(id)
    }

    pub fn get_mut(&mut self, id: &WorkerId) -> Option<&mut Worker> {
        self.all.get_mut(id)
    }

    pub fn insert(&mut self, id: WorkerId, worker: Worker, check_at: u64) {
        self.checks.insert((check_at, id.clone()));
        self.owned.add(worker.row.about.tenant.as_ref());
        self.all.insert(id, worker);
    }

    pub fn remove(&mut self, id: &WorkerId) -> Option<Worker> {
        let worker = self.all.remove(id)?;
        self.uncount(worker.counted.clone());
        self.owned.remove(worker.row.about.tenant.as_ref());
        Some(worker)
    }

    /// Something about a worker may have changed that its crew knows; it holds so many jobs.
    pub fn count(&mut self, id: &WorkerId, held: usize) {
        let Some(worker) = self.all.get_mut(id) else { return };
        let takes = !worker.stale && !worker.is_quieted();
        let pool = worker.row.about.pool.as_ref().filter(|_| takes);
        let is = pool.map(|pool| (pool, worker.room(held) == 0));
        if is == worker.counted.as_ref().map(|(pool, full)| (pool, *full)) {
            return;
        }
        let is = is.map(|(pool, full)| (pool.clone(), full));
        let was = std::mem::replace(&mut worker.counted, is.clone());
        self.uncount(was);
        if let Some((pool, full)) = is {
            let crew = self.crews.entry(pool).or_default();
            crew.workers += 1;
            crew.full += usize::from(full);
        }
    }

    fn uncount(&mut self, was: Option<(PoolName, bool)>) {
        let Some((pool, full)) = was else { return };
        let Some(crew) = self.crews.get_mut(&pool) else { return };
        crew.workers -= 1;
        crew.full -= usize::from(full);
        if crew.workers == 0 {
            self.crews.remove(&pool);
        }
    }

    /// All workers of a pool have as many jobs as they may have.
    pub fn are_full(&self, pool: &PoolName) -> bool {
        self.crews.get(pool).is_some_and(|crew| crew.full == crew.workers)
    }

    pub fn ids(&self) -> impl Iterator<Item = &WorkerId> {
        self.all.keys()
    }

    pub fn check_later(&mut self, id: WorkerId, at: u64) {
        self.checks.insert((at, id));
    }

    pub fn next_check(&self) -> Option<u64> {
        self.checks.first().map(|&(at, _)| at)
    }

    pub fn pop_check(&mut self, mono: u64) -> Option<WorkerId> {
        let (at, _) = self.checks.first()?;
        if *at > mono {
            return None;
        }
        self.checks.pop_first().map(|(_, id)| id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Worker> {
        self.all.values()
    }
}
