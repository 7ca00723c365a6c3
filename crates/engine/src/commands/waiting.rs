//! Fetches that wait. Nobody polls: a job that becomes available is handed to the one that has
//! waited longest and may have it.

use crate::{Engine, Fetch, Reply, WaiterId};

impl Engine {
    pub(crate) fn start_waiting(&mut self, id: WaiterId, fetch: Fetch, ms: u64) {
        let fetch = self.with_queues(fetch);
        for name in &fetch.queues {
            match self.queues.find(name) {
                Some(ix) => {
                    self.queues.get_mut(ix).waiters.insert(id);
                }
                None => self.waiters.await_queue(name.clone(), id),
            }
        }
        let deadline = self.now.mono.saturating_add(ms);
        self.waiters.add(id, fetch, deadline);
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

    /// Serves waiting fetches from the queues that have changed.
    pub(crate) fn serve_waiters(&mut self) {
        while let Some(ix) = self.awake.pop() {
            let mut last = None;
            self.settle_gates();
            self.let_first_in(ix);
            while !self.queues.get(ix).open.is_empty() {
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
        let fetch = waiter.fetch.clone();
        let claimed = self.claim_for(&fetch);
        if !claimed.is_empty() {
            self.remove_waiter(id);
            self.out.woken.push((id, Reply::Fetched(claimed)));
        }
    }

    fn remove_waiter(&mut self, id: WaiterId) {
        let Some(waiter) = self.waiters.remove(id) else {
            return;
        };
        for name in &waiter.fetch.queues {
            match self.queues.find(name) {
                Some(ix) => {
                    self.queues.get_mut(ix).waiters.remove(&id);
                }
                None => self.waiters.forget_queue(name, id),
            }
        }
    }
}
