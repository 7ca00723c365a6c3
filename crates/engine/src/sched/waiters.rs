//! Fetches that wait for a job.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{PoolName, QueueName, WorkerId};

use crate::{Fetch, WaiterId};

#[derive(Default)]
pub(crate) struct Waiters {
    all: BTreeMap<WaiterId, Waiter>,
    by_deadline: BTreeSet<(u64, WaiterId)>,
    by_worker: BTreeMap<WorkerId, BTreeSet<WaiterId>>,
    /// Who waits for a queue that does not exist yet.
    for_new_queue: BTreeMap<QueueName, BTreeSet<WaiterId>>,
    aside: BTreeMap<Aside, BTreeSet<WaiterId>>,
}

/// What keeps a fetch from taking any job at all. It stands in no queue meanwhile, so that it costs
/// nothing when jobs come in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Aside {
    /// Its worker holds as many jobs as it may, or was told to take no more.
    Worker(WorkerId),
    /// Its pool has no room.
    Pool(PoolName),
    /// Its queues are kept for the workers of other pools.
    OtherPools,
}

pub(crate) struct Waiter {
    pub fetch: Fetch,
    deadline: u64,
    aside: Option<Aside>,
}

impl Waiters {
    pub fn add(&mut self, id: WaiterId, fetch: Fetch, deadline: u64) {
        self.by_deadline.insert((deadline, id));
        if let Some(worker) = &fetch.worker {
            self.by_worker.entry(worker.clone()).or_default().insert(id);
        }
        self.all.insert(id, Waiter { fetch, deadline, aside: None });
    }

    pub fn get(&self, id: WaiterId) -> Option<&Waiter> {
        self.all.get(&id)
    }

    pub fn remove(&mut self, id: WaiterId) -> Option<Waiter> {
        self.bring_back(id);
        let waiter = self.all.remove(&id)?;
        self.by_deadline.remove(&(waiter.deadline, id));
        if let Some(worker) = &waiter.fetch.worker
            && let Some(ids) = self.by_worker.get_mut(worker)
        {
            ids.remove(&id);
            if ids.is_empty() {
                self.by_worker.remove(worker);
            }
        }
        Some(waiter)
    }

    pub fn of_worker(&self, worker: &WorkerId) -> Vec<WaiterId> {
        self.by_worker.get(worker).into_iter().flatten().copied().collect()
    }

    pub fn put_aside(&mut self, id: WaiterId, why: Aside) {
        self.bring_back(id);
        if let Some(waiter) = self.all.get_mut(&id) {
            waiter.aside = Some(why.clone());
            self.aside.entry(why).or_default().insert(id);
        }
    }

    /// It may stand in its queues again. Whether it was aside.
    pub fn bring_back(&mut self, id: WaiterId) -> bool {
        let Some(why) = self.all.get_mut(&id).and_then(|waiter| waiter.aside.take()) else {
            return false;
        };
        if let Some(ids) = self.aside.get_mut(&why) {
            ids.remove(&id);
            if ids.is_empty() {
                self.aside.remove(&why);
            }
        }
        true
    }

    /// The one that has been aside for longest because of this pool.
    pub fn first_aside(&self, pool: &PoolName) -> Option<WaiterId> {
        self.aside.get(&Aside::Pool(pool.clone()))?.first().copied()
    }

    /// All that are aside, for whatever reason.
    pub fn all_aside(&self) -> Vec<WaiterId> {
        self.aside.values().flatten().copied().collect()
    }

    /// The queues that any waiting fetch is interested in.
    pub fn queues(&self) -> impl Iterator<Item = &QueueName> {
        self.all.values().flat_map(|waiter| &waiter.fetch.queues)
    }

    pub fn next_deadline(&self) -> Option<u64> {
        self.by_deadline.first().map(|&(deadline, _)| deadline)
    }

    /// A waiter whose time is over.
    pub fn expired(&self, mono: u64) -> Option<WaiterId> {
        self.by_deadline.first().filter(|&&(deadline, _)| deadline <= mono).map(|&(_, id)| id)
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn await_queue(&mut self, queue: QueueName, id: WaiterId) {
        self.for_new_queue.entry(queue).or_default().insert(id);
    }

    pub fn forget_queue(&mut self, queue: &QueueName, id: WaiterId) {
        if let Some(ids) = self.for_new_queue.get_mut(queue) {
            ids.remove(&id);
            if ids.is_empty() {
                self.for_new_queue.remove(queue);
            }
        }
    }

    /// The queue exists now: who has been waiting for it?
    pub fn queue_created(&mut self, queue: &QueueName) -> BTreeSet<WaiterId> {
        self.for_new_queue.remove(queue).unwrap_or_default()
    }
}
