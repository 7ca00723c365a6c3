//! The table of interned classes, with the job counts of each.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use ahash::RandomState;
use rota_model::mutation::{Counts, Mutation};
use rota_model::{Class, ClassId, Ending, JobType, Policy};

use crate::queue::QueueIx;
use crate::shard::ShardIx;
use crate::tenant::TenantIx;

type Map<K, V> = std::collections::HashMap<K, V, RandomState>;

pub(crate) struct Classes {
    slots: Vec<Option<Slot>>,
    by_class: Map<Arc<Class>, ClassId>,
    free: Vec<ClassId>,
    /// Classes with unfinished jobs.
    pub living: usize,
    /// Classes whose counts changed since they were written.
    dirty: Vec<ClassId>,
    /// Classes that may have no jobs left.
    idle: VecDeque<ClassId>,
    /// How many of these are still to be checked.
    to_sweep: usize,
    /// Policies and types shared by classes. Bounded: what does not fit is not shared.
    policies: HashSet<Arc<Policy>, RandomState>,
    kinds: HashSet<JobType, RandomState>,
}

const MOST_SHARED: usize = 10_000;

pub(crate) struct Slot {
    pub class: Arc<Class>,
    pub queue: QueueIx,
    pub tenant: TenantIx,
    pub shard: ShardIx,
    pub done: Counts,
    /// Unfinished jobs.
    pub live: u64,
    dirty: bool,
}

/// The queue, tenant and shard that a class belongs to.
pub(crate) struct Home {
    pub queue: QueueIx,
    pub tenant: TenantIx,
    pub shard: ShardIx,
}

impl Classes {
    pub fn new(hasher: RandomState) -> Self {
        Self {
            slots: Vec::new(),
            policies: HashSet::with_hasher(hasher.clone()),
            kinds: HashSet::with_hasher(hasher.clone()),
            by_class: Map::with_hasher(hasher),
            free: Vec::new(),
            living: 0,
            dirty: Vec::new(),
            idle: VecDeque::new(),
            to_sweep: 0,
        }
    }

    /// Interns the type and policy of a class.
    pub fn shared(&mut self, class: &Class) -> (JobType, Arc<Policy>) {
        let kind = match self.kinds.get(&class.kind) {
            Some(interned) => interned.clone(),
            None => {
                if self.kinds.len() < MOST_SHARED {
                    self.kinds.insert(class.kind.clone());
                }
                class.kind.clone()
            }
        };
        // A policy with a limit is rarely shared.
        if class.policy.limit.is_some() {
            return (kind, class.policy.clone());
        }
        let policy = match self.policies.get(&class.policy) {
            Some(interned) => interned.clone(),
            None => {
                if self.policies.len() < MOST_SHARED {
                    self.policies.insert(class.policy.clone());
                }
                class.policy.clone()
            }
        };
        (kind, policy)
    }

    pub fn len(&self) -> usize {
        self.by_class.len()
    }

    pub fn find(&self, class: &Class) -> Option<ClassId> {
        self.by_class.get(class).copied()
    }

    /// Adds a class that [`Classes::find`] does not find.
    pub fn add(&mut self, class: Class, home: Home) -> (ClassId, Arc<Class>) {
        let id = self.free.pop().unwrap_or(ClassId(self.slots.len() as u32));
        let class = Arc::new(class);
        self.put(id, class.clone(), home, Counts::default());
        (id, class)
    }

    pub fn put(&mut self, id: ClassId, class: Arc<Class>, home: Home, done: Counts) {
        let index = id.0 as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        self.by_class.insert(class.clone(), id);
        let Home { queue, tenant, shard } = home;
        self.slots[index] = Some(Slot { class, queue, tenant, shard, done, live: 0, dirty: false });
        self.idle.push_back(id);
    }

    /// After a restore: lists the unused ids.
    pub fn collect_free(&mut self) {
        let empty = |(i, slot): (usize, &Option<Slot>)| slot.is_none().then_some(ClassId(i as u32));
        self.free = self.slots.iter().enumerate().rev().filter_map(empty).collect();
    }

    pub fn slot(&self, id: ClassId) -> &Slot {
        self.slots[id.0 as usize].as_ref().expect("a job's class is known while the job exists")
    }

    pub fn slot_mut(&mut self, id: ClassId) -> &mut Slot {
        self.slots[id.0 as usize].as_mut().expect("a job's class is known while the job exists")
    }

    pub fn contains(&self, id: ClassId) -> bool {
        self.slots.get(id.0 as usize).is_some_and(Option::is_some)
    }

    /// Classes with an id in `from..from + most`, and the id to continue from, if there are more.
    pub fn slice(
        &self,
        from: usize,
        most: usize,
    ) -> (impl Iterator<Item = (ClassId, &Slot)>, Option<usize>) {
        let end = from.saturating_add(most).min(self.slots.len());
        let slots = self.slots[from.min(end)..end].iter().enumerate();
        let occupied =
            slots.filter_map(move |(i, slot)| Some((ClassId((from + i) as u32), slot.as_ref()?)));
        (occupied, (end < self.slots.len()).then_some(end))
    }

    pub fn count_finished(&mut self, id: ClassId, ending: Ending) {
        self.change(id, |slot| {
            slot.live -= 1;
            *slot.done.get_mut(ending) += 1;
        });
    }

    pub fn count_forgotten(&mut self, id: ClassId, ending: Ending) {
        self.change(id, |slot| *slot.done.get_mut(ending) -= 1);
    }

    pub fn count_deleted(&mut self, id: ClassId) {
        self.change(id, |slot| slot.live -= 1);
    }

    fn change(&mut self, id: ClassId, change: impl FnOnce(&mut Slot)) {
        let slot = self.slot_mut(id);
        change(slot);
        let first = !std::mem::replace(&mut slot.dirty, true);
        let empty = slot.live == 0 && slot.done.total() == 0;
        if first {
            self.dirty.push(id);
        }
        if empty {
            self.idle.push_back(id);
        }
    }

    /// Writes changed counts: once per class and batch, however many jobs it had.
    pub fn write_counts(&mut self, out: &mut Vec<Mutation>) {
        for id in std::mem::take(&mut self.dirty) {
            if let Some(slot) = &mut self.slots[id.0 as usize] {
                slot.dirty = false;
                out.push(Mutation::Counts(id, slot.done));
            }
        }
    }

    /// Begins to check idle classes. Done now and then, so that a queue which keeps running empty
    /// does not write its class again each time.
    pub fn begin_sweep(&mut self) {
        self.to_sweep = self.idle.len();
    }

    pub fn is_sweeping(&self) -> bool {
        self.to_sweep > 0
    }

    /// Checks up to `most` idle classes, and removes and returns those that have no jobs.
    pub fn drop_idle(&mut self, most: usize, out: &mut Vec<Mutation>) -> Vec<(ClassId, Slot)> {
        let count = most.min(self.to_sweep);
        self.to_sweep -= count;
        if count > 0 {
            self.write_counts(out);
        }
        let mut dropped = Vec::new();
        let looked_at: Vec<ClassId> = self.idle.drain(..count).collect();
        for id in looked_at {
            let Some(slot) = &self.slots[id.0 as usize] else {
                continue;
            };
            if slot.live == 0 && slot.done.total() == 0 {
                let class = slot.class.clone();
                self.by_class.remove(&class);
                dropped.extend(self.slots[id.0 as usize].take().map(|slot| (id, slot)));
                self.free.push(id);
                out.push(Mutation::DropClass(id));
            }
        }
        dropped
    }
}
