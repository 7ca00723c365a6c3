//! The table of workers that have registered, fetched or sent a heartbeat.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use rota_model::{Directive, Millis, QueueName, TenantId, WorkerId};
use serde::{Deserialize, Serialize};

use crate::worker_tallies::{CountedAs, WorkerTallies};
use crate::{Asker, Cap, CapCounter, CapReached, Capped, Registration, WorkerState};

pub(crate) struct Workers {
    owned: CapCounter,
    owned_bytes: CapCounter,
    all: BTreeMap<WorkerId, Worker>,
    /// When to check a worker again, in monotonic ms. If it was seen since, the check is only
    /// postponed.
    checks: BTreeSet<(u64, WorkerId)>,
    by_tenant: BTreeMap<TenantId, BTreeSet<WorkerId>>,
    /// Tenants' workers by the names that the tenants use, for operators who do not say whose they mean.
    by_local_name: BTreeMap<Box<str>, BTreeSet<WorkerId>>,
    tallies: WorkerTallies,
}

#[derive(Debug)]
pub(crate) struct Worker {
    pub row: WorkerRow,
    /// Size of the stored row.
    row_bytes: usize,
    /// The state that it last reported.
    pub reported: Option<Directive>,
    pub last_seen: Millis,
    pub last_seen_mono: u64,
    pub stale: bool,
    /// When it is checked next, in monotonic time.
    check_at: u64,
    /// Its row's queues, shared by its events.
    queues: Arc<[QueueName]>,
    /// What it was last counted as.
    counted: Option<CountedAs>,
}

/// A worker, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerRow {
    pub about: Registration,
    pub since: Millis,
    pub directive: Option<Directive>,
    /// It sends heartbeats, so silence means that it is gone.
    pub beats: bool,
}

impl Worker {
    pub fn new(row: WorkerRow, last_seen: Millis, last_seen_mono: u64) -> Self {
        let queues = row.about.queues.as_slice().into();
        Self {
            row,
            row_bytes: 0,
            reported: None,
            last_seen,
            last_seen_mono,
            stale: false,
            check_at: 0,
            queues,
            counted: None,
        }
    }

    pub fn queues(&self) -> &Arc<[QueueName]> {
        &self.queues
    }

    /// To be called when the row's queues may have changed.
    pub fn share_queues(&mut self) {
        if *self.queues != *self.row.about.queues {
            self.queues = self.row.about.queues.as_slice().into();
        }
    }

    /// It was directed to take no more jobs, or reports that it takes none.
    pub fn is_quieted(&self) -> bool {
        self.row.directive.max(self.reported) > Some(Directive::Running)
    }

    /// Whether the caller may change it: an operator, or the tenant that it belongs to.
    pub fn may_be_changed_by(&self, tenant: Option<&TenantId>) -> bool {
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

    /// Its tenant, or the one whose namespace its id is in.
    pub fn owner(&self) -> Option<&str> {
        let about = &self.row.about;
        about.tenant.as_deref().or(about.worker.namespace())
    }

    /// How many more jobs it may take, if it holds `held`.
    pub fn room(&self, held: usize) -> usize {
        match self.row.about.concurrency {
            Some(most) => (most as usize).saturating_sub(held),
            None => usize::MAX,
        }
    }
}

impl Workers {
    pub fn new(cap: Cap, byte_cap: Cap) -> Self {
        Self {
            owned: CapCounter::new(Capped::Workers, cap),
            owned_bytes: CapCounter::new(Capped::WorkerBytes, byte_cap),
            all: BTreeMap::new(),
            checks: BTreeSet::new(),
            by_tenant: BTreeMap::new(),
            by_local_name: BTreeMap::new(),
            tallies: WorkerTallies::default(),
        }
    }

    pub fn check_cap(&self, asker: Asker<'_>) -> Result<(), CapReached> {
        self.owned.check(asker)
    }

    /// Nobody who was not silent before counts as silent now.
    pub fn hear_all(&mut self, mono: u64) {
        self.all.values_mut().filter(|worker| !worker.stale).for_each(|worker| {
            worker.last_seen_mono = mono;
        });
    }

    /// Whether a worker's row may have this size from now on.
    pub fn check_byte_cap(
        &self,
        asker: Asker<'_>,
        id: &WorkerId,
        bytes: usize,
    ) -> Result<(), CapReached> {
        let current = self.all.get(id).map_or(0, |worker| worker.row_bytes);
        match bytes.saturating_sub(current) {
            0 => Ok(()),
            more => self.owned_bytes.check_many(asker, 0, more),
        }
    }

    /// A worker's row has this size from now on.
    pub fn count_bytes(&mut self, id: &WorkerId, bytes: usize) {
        let Some(worker) = self.all.get_mut(id) else { return };
        let tenant = worker.row.about.tenant.as_ref();
        self.owned_bytes.remove_many(tenant, worker.row_bytes);
        self.owned_bytes.add_many(tenant, bytes);
        worker.row_bytes = bytes;
    }

    pub fn get(&self, id: &WorkerId) -> Option<&Worker> {
        self.all.get(id)
    }

    pub fn get_mut(&mut self, id: &WorkerId) -> Option<&mut Worker> {
        self.all.get_mut(id)
    }

    pub fn insert(&mut self, id: WorkerId, mut worker: Worker, check_at: u64) {
        worker.check_at = check_at;
        self.checks.insert((check_at, id.clone()));
        self.owned.add(worker.row.about.tenant.as_ref());
        if let Some(owner) = worker.owner().and_then(|id| TenantId::parse(id).ok()) {
            self.by_tenant.entry(owner).or_default().insert(id.clone());
        }
        if id.namespace().is_some() {
            self.by_local_name.entry(id.local().into()).or_default().insert(id.clone());
        }
        self.all.insert(id, worker);
    }

    pub fn remove(&mut self, id: &WorkerId) -> Option<Worker> {
        let worker = self.all.remove(id)?;
        self.checks.remove(&(worker.check_at, id.clone()));
        if let Some(namesakes) = self.by_local_name.get_mut(id.local()) {
            namesakes.remove(id);
            if namesakes.is_empty() {
                self.by_local_name.remove(id.local());
            }
        }
        worker.counted.iter().for_each(|was| self.tallies.remove(worker.owner(), was));
        self.owned.remove(worker.row.about.tenant.as_ref());
        self.owned_bytes.remove_many(worker.row.about.tenant.as_ref(), worker.row_bytes);
        if let Some(owner) = worker.owner()
            && let Some(ids) = self.by_tenant.get_mut(owner)
        {
            ids.remove(id);
            if ids.is_empty() {
                self.by_tenant.remove(owner);
            }
        }
        Some(worker)
    }

    /// Updates a worker's tally. It holds `held` jobs.
    pub fn count(&mut self, id: &WorkerId, held: usize) {
        let Some(worker) = self.all.get_mut(id) else { return };
        let (state, pool) = (worker.state(), worker.row.about.pool.as_ref());
        let takes = !worker.stale && !worker.is_quieted();
        let full = takes && worker.room(held) == 0;
        let same = |was: &CountedAs| {
            let CountedAs { state: old_state, pool: old_pool, takes: took, full: was_full } = was;
            (*old_state, old_pool.as_ref(), *took, *was_full) == (state, pool, takes, full)
        };
        if worker.counted.as_ref().is_some_and(same) {
            return;
        }
        let counted = CountedAs { state, pool: pool.cloned(), takes, full };
        worker.counted.iter().for_each(|was| self.tallies.remove(worker.owner(), was));
        self.tallies.add(worker.owner(), &counted);
        worker.counted = Some(counted);
    }

    pub fn tallies(&self) -> &WorkerTallies {
        &self.tallies
    }

    /// Workers after this id, sorted.
    pub fn after(&self, id: &str) -> impl Iterator<Item = &Worker> {
        let behind = (Bound::Excluded(id), Bound::Unbounded);
        self.all.range::<str, _>(behind).map(|(_, worker)| worker)
    }

    /// The same for one tenant's workers.
    pub fn of_tenant_after(&self, tenant: &TenantId, id: &str) -> impl Iterator<Item = &Worker> {
        let behind = (Bound::Excluded(id), Bound::Unbounded);
        let of_tenant = self.by_tenant.get(tenant).into_iter();
        let ids = of_tenant.flat_map(move |ids| ids.range::<str, _>(behind));
        ids.filter_map(|id| self.all.get(id))
    }

    /// Up to `most` tenants' workers with this name.
    pub fn of_tenants_named(&self, name: &str, most: usize) -> Vec<WorkerId> {
        let namesakes = self.by_local_name.get(name).into_iter().flatten();
        namesakes.take(most).cloned().collect()
    }

    pub fn ids(&self) -> impl Iterator<Item = &WorkerId> {
        self.all.keys()
    }

    /// The next check of this worker is at this time, instead of the one that was planned.
    pub fn check_later(&mut self, id: WorkerId, at: u64) {
        let Some(worker) = self.all.get_mut(&id) else { return };
        let planned = std::mem::replace(&mut worker.check_at, at);
        self.checks.remove(&(planned, id.clone()));
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
}
