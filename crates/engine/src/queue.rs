//! The table of queues, with their settings, job counts and statistics.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use ahash::RandomState;
use rota_model::mutation::Counts;
use rota_model::{Millis, QueueName, State, TenantId};
use serde::{Deserialize, Serialize};

use crate::job_counts::JobCounts;
use crate::slab::Slab;
use crate::stats::Stats;
use crate::tenant::TenantIx;
use crate::{Asker, Cap, CapCounter, CapReached, Capped, QueueSettings, WaiterId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueueIx(pub u32);

pub(crate) struct Queues {
    /// Existing queues by owner.
    owned: CapCounter,
    all: Slab<Queue>,
    by_name: std::collections::HashMap<QueueName, QueueIx, RandomState>,
    /// Existing queues by name.
    existing: BTreeMap<QueueName, QueueIx>,
    /// Jobs of all queues: unfinished ones, and finished ones that are kept.
    pub jobs: JobCounts,
    pub done: Counts,
    bounded: bool,
}

pub(crate) struct Queue {
    pub row: QueueRow,
    pub name: QueueName,
    /// Its row is on disk. A deleted queue keeps its slot while finished jobs or fetches refer to
    /// it.
    pub exists: bool,
    /// Number of its shards.
    pub shards: u32,
    /// When it was last found in use, in monotonic ms.
    pub used_at: u64,
    /// Tenants with a paused shard.
    pub paused_by: BTreeSet<TenantIx>,
    pub jobs: JobCounts,
    pub done: Counts,
    /// Enqueues that wait for room, oldest first.
    pub waiting_enqueues: BTreeSet<WaiterId>,
    /// The event that it is nearly full was sent.
    pub notified_nearly_full: bool,
    pub stats: Stats,
    /// Times that it was starved, since the process began.
    pub starved: u64,
    /// It was starved and has had no dispatch since.
    pub starves: bool,
    /// When a worker last asked for it, in monotonic ms.
    pub asked_at: Option<u64>,
    /// The same for workers in no pool.
    pub asked_outside_pools: Option<u64>,
    /// The same for workers that serve a single tenant.
    pub asked_by_tenants: Option<u64>,
    /// Since when requests for it are recorded, in monotonic ms: since the process began, or since the
    /// queue was created.
    pub known_since: u64,
}

/// Bounds on the waiting jobs of a queue, and what happens beyond them. Zero means no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    #[serde(default)]
    pub max_depth: u64,
    #[serde(default)]
    pub max_bytes: u64,
    /// Bounds of each shard.
    #[serde(default)]
    pub tenant_max_depth: u64,
    #[serde(default)]
    pub tenant_max_bytes: u64,
    pub strategy: Backpressure,
    /// Threshold for the nearly-full warning, in thousandths of a bound.
    pub warn_at: u32,
}

/// What happens to new jobs that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backpressure {
    #[default]
    Reject,
    Block,
    DropOldest,
}

impl Backpressure {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Backpressure::Reject => "reject",
            Backpressure::Block => "block",
            Backpressure::DropOldest => "drop_oldest",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Backpressure::Reject, Backpressure::Block, Backpressure::DropOldest]
            .into_iter()
            .find(|strategy| strategy.as_str() == text)
    }
}

/// A queue, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueRow {
    pub created: Millis,
    /// The tenant that created it and whose cap it counts against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<TenantId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<Millis>,
    #[serde(default)]
    pub settings: QueueSettings,
    /// Created by request, and therefore kept while it is idle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requested: bool,
}

impl QueueRow {
    pub fn new(created: Millis) -> Self {
        let settings = QueueSettings::default();
        Self { created, owner: None, paused: None, settings, requested: false }
    }
}

impl Queues {
    pub fn new(hasher: RandomState, cap: Cap) -> Self {
        Self {
            owned: CapCounter::new(Capped::Queues, cap),
            all: Slab::default(),
            by_name: std::collections::HashMap::with_hasher(hasher),
            existing: BTreeMap::new(),
            jobs: JobCounts::default(),
            done: Counts::default(),
            bounded: false,
        }
    }

    /// Whether the asker may create `more` queues, after `others` that are about to be created for
    /// other owners.
    pub fn check_cap(
        &self,
        asker: Asker<'_>,
        others: usize,
        more: usize,
    ) -> Result<(), CapReached> {
        self.owned.check_many(asker, others, more)
    }

    /// Whether the tenant owns an existing queue.
    pub fn any_owned_by(&self, tenant: &TenantId) -> bool {
        self.owned.of(tenant) > 0
    }

    /// Whether a deleted queue still has its slot.
    pub fn any_deleted(&self) -> bool {
        self.by_name.len() > self.existing.len()
    }

    /// Number of existing queues.
    pub fn len(&self) -> usize {
        self.existing.len()
    }

    /// Whether any queue has or had a bound.
    pub fn any_bounded(&self) -> bool {
        self.bounded
    }

    pub fn note_bounded(&mut self) {
        self.bounded = true;
    }

    pub fn find(&self, name: &str) -> Option<QueueIx> {
        self.by_name.get(name).copied()
    }

    /// The index of an existing queue.
    pub fn find_existing(&self, name: &str) -> Option<QueueIx> {
        self.find(name).filter(|ix| self.get(*ix).exists)
    }

    /// Makes a queue exist, with this row.
    pub fn create(&mut self, ix: QueueIx, row: QueueRow) {
        self.owned.add(row.owner.as_ref());
        let queue = self.get_mut(ix);
        queue.row = row;
        queue.exists = true;
        let name = queue.name.clone();
        self.existing.insert(name, ix);
    }

    /// Deletes a queue; finished jobs may still refer to its slot.
    pub fn delete(&mut self, ix: QueueIx) {
        let queue = self.all.get_mut(ix.0);
        self.owned.remove(queue.row.owner.as_ref());
        queue.row = QueueRow::new(queue.row.created);
        queue.stats = queue.stats.emptied();
        (queue.notified_nearly_full, queue.starved, queue.starves) = (false, 0, false);
        queue.exists = false;
        let name = queue.name.clone();
        self.existing.remove(&name);
    }

    pub fn add(&mut self, name: QueueName, used_at: u64) -> QueueIx {
        let ix = QueueIx(self.all.add(Queue {
            row: QueueRow::new(Millis(0)),
            name: name.clone(),
            exists: false,
            shards: 0,
            used_at,
            paused_by: BTreeSet::new(),
            jobs: JobCounts::default(),
            done: Counts::default(),
            waiting_enqueues: BTreeSet::new(),
            notified_nearly_full: false,
            stats: Stats::default(),
            starved: 0,
            starves: false,
            asked_at: None,
            asked_outside_pools: None,
            asked_by_tenants: None,
            known_since: used_at,
        }));
        self.by_name.insert(name, ix);
        ix
    }

    /// Frees the slot. Nothing may refer to the queue any more.
    pub fn remove(&mut self, ix: QueueIx) {
        if self.get(ix).exists {
            self.delete(ix);
        }
        let name = self.get(ix).name.clone();
        self.by_name.remove(&name);
        self.all.remove(ix.0);
    }

    pub fn get(&self, ix: QueueIx) -> &Queue {
        self.all.get(ix.0)
    }

    pub fn get_mut(&mut self, ix: QueueIx) -> &mut Queue {
        self.all.get_mut(ix.0)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Queue> {
        self.all.iter().map(|(_, queue)| queue)
    }

    /// Existing queues after this name, sorted.
    pub fn existing_after(&self, name: &str) -> impl Iterator<Item = QueueIx> {
        let behind = (Bound::Excluded(name), Bound::Unbounded);
        self.existing.range::<str, _>(behind).map(|(_, ix)| *ix)
    }
}

impl Queue {
    /// Jobs in this state; for terminal states, those that are kept.
    pub fn count(&self, state: State) -> u64 {
        if state.is_terminal() { self.done.of_state(state) } else { self.jobs.count(state) }
    }

    pub fn is_bounded(&self) -> bool {
        let bounds = self.row.settings.bounds;
        bounds.is_some_and(|bounds| bounds.max_depth > 0 || bounds.max_bytes > 0)
    }

    /// How full it is: the larger of depth and bytes as fractions of their bounds.
    pub fn pressure(&self) -> Option<f64> {
        let bounds = self.row.settings.bounds?;
        let part = |used: u64, most: u64| (most > 0).then(|| used as f64 / most as f64);
        let parts =
            [part(self.jobs.depth(), bounds.max_depth), part(self.jobs.bytes, bounds.max_bytes)];
        parts.into_iter().flatten().reduce(f64::max)
    }
}
