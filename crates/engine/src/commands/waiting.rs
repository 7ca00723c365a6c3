//! Fetches that wait for jobs. A job that becomes available goes to the fetch that has waited
//! longest and may take it, or to the one whose worker has the fewest jobs.

use std::collections::BTreeMap;

use rota_model::{PoolName, QueueStrategy, TenantId, WorkerId};

use crate::scheduler::{NewWaiter, Reconfigured};
use crate::{Claimed, Engine, Fetch, Refusal, Reply, WaiterId};

impl Engine {
    pub(crate) fn wait_for_job(&mut self, id: WaiterId, fetch: Fetch, deadline: u64) {
        let pool = self.pool_of(&fetch);
        let queues = match pool.as_ref().and_then(|name| self.scheduler.pools().get(name)) {
            Some(pool) if fetch.queues.is_empty() => {
                self.resolve_queue_names(&pool.config().queues, &fetch)
            }
            _ => self.with_queues(fetch.clone()).queues,
        };
        let pools = self.scheduler.pools();
        let allowed = queues.into_iter().filter(|name| pools.may_serve(pool.as_ref(), name));
        let (load, has_room) = match &fetch.worker {
            Some(worker) => (self.active.count_held_by(worker), self.room_of_worker(worker) > 0),
            None => (0, true),
        };
        let waits = NewWaiter {
            queues: allowed.collect(),
            by_load: self.strategy_of(&fetch) == QueueStrategy::LeastLoaded,
            pool,
            load,
            has_room,
        };
        let queues = &self.queues;
        let find = |name: &str| queues.find(name);
        self.scheduler.wait(id, fetch, deadline, waits, find);
    }

    /// A worker's room may have changed: updates its tally and its waiting fetches.
    pub(crate) fn worker_changed(&mut self, id: &WorkerId) {
        let load = self.active.count_held_by(id);
        self.workers.count(id, load);
        if self.scheduler.fetches().has_worker(id) {
            let has_room = self.room_of_worker(id) > 0;
            let queues = &self.queues;
            self.scheduler.worker_changed(id, load, has_room, |name| queues.find(name));
        }
    }

    /// Indexes a worker's waiting fetches again, because what they can take may have changed.
    pub(crate) fn reindex_fetches_of(&mut self, id: &WorkerId) {
        for waiter in self.scheduler.fetches().of_worker(id) {
            self.reindex_fetch(waiter);
        }
    }

    /// Indexes a waiting fetch again. It is refused if its pool was deleted, or closed to its tenant.
    fn reindex_fetch(&mut self, id: WaiterId) {
        let Some(waiter) = self.scheduler.fetches().get(id) else { return };
        let deadline = waiter.deadline();
        if let Some(refusal) = self.pool_is_gone(&waiter.fetch) {
            self.remove_waiter(id);
            self.out.woken.push((id, Reply::Refused(refusal)));
            return;
        }
        if let Some(fetch) = self.remove_waiter(id) {
            self.wait_for_job(id, fetch, deadline);
            let queues = &self.queues;
            self.scheduler.may_be_served(id, |name| queues.find(name));
        }
    }

    /// Refuses waiting fetches that name a queue which their pool has lost.
    pub(crate) fn refuse_lost_queues(&mut self, name: &PoolName) {
        for id in self.scheduler.fetches().ids(name.owner().as_ref()) {
            let Some(waiter) = self.scheduler.fetches().get(id) else { continue };
            let Some(pool) = self.scheduler.pools().get(name) else { return };
            let fetch = &waiter.fetch;
            let pools = self.scheduler.pools();
            let named =
                fetch.pool.as_ref().map(|named| pools.resolve(fetch.tenant.as_ref(), named));
            if named.unwrap_or_else(|| self.pool_of(fetch)).as_ref() != Some(name) {
                continue;
            }
            if let Some(queue) = fetch.queues.iter().find(|queue| !pool.has(queue)) {
                let refusal = Refusal::NotInPool { pool: name.clone(), queue: queue.clone() };
                self.remove_waiter(id);
                self.out.woken.push((id, Reply::Refused(refusal)));
            }
        }
    }

    /// Indexes all waiting fetches again, after a change of pools or the end of maintenance.
    pub(crate) fn wake_all(&mut self) {
        self.reindex_fetches(None);
        self.scheduler.reconfigured(Reconfigured::All);
    }

    /// Indexes all waiting fetches again, or those of one tenant.
    pub(crate) fn reindex_fetches(&mut self, tenant: Option<&TenantId>) {
        for id in self.scheduler.fetches().ids(tenant) {
            self.reindex_fetch(id);
        }
    }

    pub(crate) fn stop_waiting(&mut self, id: WaiterId) -> Reply {
        self.remove_waiter(id);
        self.stop_waiting_for_room(id);
        Reply::Done
    }

    pub(crate) fn end_waiting(&mut self) -> Reply {
        self.closing = true;
        self.end_waits(u64::MAX);
        self.end_waits_for_room(u64::MAX);
        Reply::Done
    }

    /// Answers fetches whose wait has ended with no jobs.
    pub(crate) fn end_waits(&mut self, mono: u64) {
        while let Some(id) = self.scheduler.fetches().expired(mono) {
            self.end_wait(id, Vec::new());
        }
    }

    /// Serves waiting fetches until none of them can get a job.
    pub(crate) fn serve_waiting_fetches(&mut self) {
        if self.maintenance.enabled() {
            // They are served when maintenance ends.
            self.scheduler.serve_nobody();
            return;
        }
        // With `least-loaded` and in fair pools, jobs are given out one at a time.
        let mut partly: BTreeMap<WaiterId, Vec<Claimed>> = BTreeMap::new();
        while let Some(id) = self.scheduler.next_waiting(|id| self.tenants.find(id)) {
            let Some(waiter) = self.scheduler.fetches().get(id) else { continue };
            let mut fetch = waiter.fetch.clone();
            if fetch.queues.is_empty() && self.pool_of(&fetch).is_none() {
                fetch.queues = waiter.queues().to_vec();
            }
            let is_fair = self
                .pool_of(&fetch)
                .is_some_and(|name| self.scheduler.pools().fair(&name).is_some());
            let singly = is_fair || self.strategy_of(&fetch) == QueueStrategy::LeastLoaded;
            let most = fetch.count;
            let count = if singly { 1 } else { most };
            let claimed = self.claim_for(&Fetch { count, ..fetch });
            if claimed.is_empty() {
                self.scheduler.got_nothing(id);
                continue;
            }
            let all = partly.entry(id).or_default();
            all.extend(claimed);
            if !singly || all.len() >= most {
                self.end_wait(id, partly.remove(&id).unwrap_or_default());
            }
        }
        partly.into_iter().for_each(|(id, claimed)| self.end_wait(id, claimed));
    }

    fn end_wait(&mut self, id: WaiterId, claimed: Vec<Claimed>) {
        self.remove_waiter(id);
        self.out.woken.push((id, Reply::Fetched(claimed)));
    }

    fn remove_waiter(&mut self, id: WaiterId) -> Option<Fetch> {
        let queues = &self.queues;
        self.scheduler.stop_waiting(id, |name| queues.find(name))
    }
}
