//! Fetches that wait. Nobody polls: a job that becomes available is handed to the one that has
//! waited longest and may have it.

use rota_model::{QueueName, State, WorkerId};

use crate::sched::Aside;
use crate::{Engine, Fetch, Reply, WaiterId};

impl Engine {
    pub(crate) fn start_waiting(&mut self, id: WaiterId, fetch: Fetch, ms: u64) {
        let fetch = self.with_queues(fetch);
        let deadline = self.now.mono.saturating_add(ms);
        let why = self.takes_nothing(&fetch);
        match why {
            Some(why) => {
                self.waiters.add(id, fetch, deadline);
                self.waiters.put_aside(id, why);
            }
            None => {
                self.stand_in_queues(id, &fetch.queues);
                self.waiters.add(id, fetch, deadline);
            }
        }
    }

    fn stand_in_queues(&mut self, id: WaiterId, names: &[QueueName]) {
        for name in names {
            match self.queues.find(name) {
                Some(ix) => {
                    self.queues.get_mut(ix).waiters.insert(id);
                }
                None => self.waiters.await_queue(name.clone(), id),
            }
        }
    }

    fn leave_queues(&mut self, id: WaiterId, names: &[QueueName]) {
        for name in names {
            match self.queues.find(name) {
                Some(ix) => {
                    self.queues.get_mut(ix).waiters.remove(&id);
                }
                None => self.waiters.forget_queue(name, id),
            }
        }
    }

    /// Why a fetch could not take any job now, whatever there is.
    fn takes_nothing(&self, fetch: &Fetch) -> Option<Aside> {
        if let Some(id) = &fetch.worker
            && self.room_of_worker(id) == 0
        {
            return Some(Aside::Worker(id.clone()));
        }
        let pool = self.pool_of(fetch);
        if let Some(name) = &pool
            && self.pools.get(name).is_some_and(|pool| pool.room() == 0)
        {
            return Some(Aside::Pool(name.clone()));
        }
        let shut_out = |name| self.pools.shuts_out(pool.as_ref(), name);
        fetch.queues.iter().all(shut_out).then_some(Aside::OtherPools)
    }

    fn put_aside(&mut self, id: WaiterId, fetch: &Fetch, why: Aside) {
        self.leave_queues(id, &fetch.queues);
        self.waiters.put_aside(id, why);
    }

    /// A fetch that was aside may take jobs again, as far as is known.
    pub(crate) fn bring_back(&mut self, id: WaiterId) {
        if self.waiters.bring_back(id)
            && let Some(queues) = self.waiters.get(id).map(|waiter| waiter.fetch.queues.clone())
        {
            self.stand_in_queues(id, &queues);
        }
    }

    /// A worker may take jobs that it could not take before.
    pub(crate) fn wake_worker(&mut self, id: &WorkerId) {
        self.count_worker(id);
        for waiter in self.waiters.of_worker(id) {
            self.bring_back(waiter);
            let Some(waiter) = self.waiters.get(waiter) else { continue };
            self.awake.extend(waiter.fetch.queues.iter().filter_map(|name| self.queues.find(name)));
        }
    }

    /// A fetch that names no queue waits for those of its pool.
    fn with_queues(&self, mut fetch: Fetch) -> Fetch {
        if fetch.queues.is_empty()
            && let Some(pool) = self.pool_of(&fetch).and_then(|name| self.pools.get(&name))
        {
            fetch.queues = self.meant_by(&pool.config().queues, &fetch);
        }
        fetch
    }

    pub(crate) fn stop_waiting(&mut self, id: WaiterId) -> Reply {
        self.remove_waiter(id);
        self.unblock(id);
        Reply::Done
    }

    pub(crate) fn end_waiting(&mut self) -> Reply {
        self.closing = true;
        while let Some(id) = self.waiters.expired(u64::MAX) {
            self.remove_waiter(id);
            self.out.woken.push((id, Reply::Fetched(Vec::new())));
        }
        self.end_blocks(u64::MAX);
        Reply::Done
    }

    /// Ends waits whose time is over, with nothing.
    pub(crate) fn end_waits(&mut self) {
        while let Some(id) = self.waiters.expired(self.now.mono) {
            self.remove_waiter(id);
            self.out.woken.push((id, Reply::Fetched(Vec::new())));
        }
    }

    /// Serves waiting fetches from the queues that have changed, and of the pools that have room again.
    pub(crate) fn serve_waiters(&mut self) {
        if self.maintenance.enabled() {
            // All are woken when it ends.
            self.awake.clear();
            self.roomy.clear();
        }
        while let Some(pool) = self.roomy.pop() {
            while self.pools.get(&pool).is_some_and(|pool| pool.room() > 0)
                && let Some(id) = self.waiters.first_aside(&pool)
            {
                self.bring_back(id);
                self.serve_waiter(id);
            }
        }
        while let Some(ix) = self.awake.pop() {
            let mut last = None;
            self.settle_gates();
            self.let_first_in(ix);
            while self.queues.get(ix).is_ready() && self.queue_is_open(ix) {
                let from = last.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
                let waiters = &self.queues.get(ix).waiters;
                let Some(&id) = waiters.range((from, std::ops::Bound::Unbounded)).next() else {
                    break;
                };
                last = Some(id);
                self.serve_waiter(id);
            }
        }
    }

    fn serve_waiter(&mut self, id: WaiterId) {
        let Some(waiter) = self.waiters.get(id) else {
            return;
        };
        if !self.has_jobs_for(&waiter.fetch) {
            return;
        }
        let fetch = waiter.fetch.clone();
        if let Some(why) = self.takes_nothing(&fetch) {
            self.put_aside(id, &fetch, why);
            return;
        }
        let claimed = self.claim_for(&fetch);
        if !claimed.is_empty() {
            self.remove_waiter(id);
            self.out.woken.push((id, Reply::Fetched(claimed)));
        }
    }

    /// Whether a fetch for one tenant's jobs has any to look for.
    fn has_jobs_for(&self, fetch: &Fetch) -> bool {
        let Some(id) = &fetch.tenant else { return true };
        let Some(tenant) = self.tenants.find(id) else { return false };
        let available = |ix| Some(self.shards.get(self.shards.find(ix, tenant)?).jobs);
        let queues = fetch.queues.iter().filter_map(|name| self.queues.find(name));
        queues.filter_map(available).any(|jobs| jobs.count(State::Available) > 0)
    }

    fn remove_waiter(&mut self, id: WaiterId) {
        if let Some(waiter) = self.waiters.remove(id) {
            self.leave_queues(id, &waiter.fetch.queues);
        }
    }
}
