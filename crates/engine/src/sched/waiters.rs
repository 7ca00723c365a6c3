//! Fetches that wait for a job.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{QueueName, WorkerId};

use crate::{Fetch, WaiterId};

#[derive(Default)]
pub(crate) struct Waiters {
    all: BTreeMap<WaiterId, Waiter>,
    by_deadline: BTreeSet<(u64, WaiterId)>,
    by_worker: BTreeMap<WorkerId, BTreeSet<WaiterId>>,
    /// Who waits for a queue that does not exist yet.
    for_new_queue: BTreeMap<QueueName, BTreeSet<WaiterId>>,
}

pub(crate) struct Waiter {
    pub fetch: Fetch,
    deadline: u64,
}

impl Waiters {
    pub fn add(&mut self, id: WaiterId, fetch: Fetch, deadline: u64) {
        self.by_deadline.insert((deadline, id));
        if let Some(worker) = &fetch.worker {
            self.by_worker.entry(worker.clone()).or_default().insert(id);
        }
        self.all.insert(id, Waiter { fetch, deadline });
    }

    pub fn get(&self, id: WaiterId) -> Option<&Waiter> {
        self.all.get(&id)
    }

    pub fn remove(&mut self, id: WaiterId) -> Option<Waiter> {
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

    /// The queues that this worker's waiting fetches are interested in.
    pub fn queues_of(&self, worker: &WorkerId) -> impl Iterator<Item = &QueueName> {
        let ids = self.by_worker.get(worker).into_iter().flatten();
        ids.filter_map(|id| self.all.get(id)).flat_map(|waiter| &waiter.fetch.queues)
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
