//! Waiting fetches, indexed by what they can take.

use std::collections::{BTreeMap, BTreeSet};

use rota_model::{PoolName, QueueName, TenantId, WorkerId};

use super::pools::Pools;
use crate::queue::QueueIx;
use crate::{Asker, Cap, CapCounter, CapReached, Capped, Fetch, WaiterId};

/// All waiting fetches, with indexes by what they can take.
pub(crate) struct Fetches {
    owned: CapCounter,
    all: BTreeMap<WaiterId, Waiter>,
    by_deadline: BTreeSet<(u64, WaiterId)>,
    by_worker: BTreeMap<WorkerId, BTreeSet<WaiterId>>,
    by_tenant: BTreeMap<TenantId, BTreeSet<WaiterId>>,
    by_taker: BTreeMap<(QueueIx, Taker), BTreeSet<(usize, WaiterId)>>,
    /// Fetches of a pool. Equal requests are together.
    by_pool: BTreeMap<PoolName, BTreeMap<Request, BTreeSet<(usize, WaiterId)>>>,
    /// Number of fetches, by queue: for jobs of any tenant, and for jobs of one tenant.
    counts: Vec<(u32, u32)>,
    /// Fetches that wait for a queue that does not exist yet.
    for_new_queue: BTreeMap<QueueName, BTreeSet<WaiterId>>,
    /// Fetches that were tried and got nothing since the list of queues to serve was last empty.
    tried: BTreeSet<WaiterId>,
}

/// What a waiting fetch can take from a queue: jobs of any tenant or of one, while its pool has room.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Taker {
    tenant: Option<TenantId>,
    pool: Option<PoolName>,
    /// Prefer the fetch whose worker has the fewest active jobs to the one that has waited longest.
    by_load: bool,
}

/// What a fetch of a pool requests: queue names, or none for all, and a tenant. If one fetch gets
/// nothing, neither does another with the same request.
type Request = (Vec<QueueName>, Option<TenantId>);

/// A waiting fetch.
pub(crate) struct Waiter {
    pub fetch: Fetch,
    deadline: u64,
    taker: Taker,
    /// The queues it waits for that its pool may serve.
    queues: Vec<QueueName>,
    /// Active jobs of its worker.
    load: usize,
    /// It is in the indexes, because its worker has room.
    listed: bool,
}

/// A fetch that begins to wait.
pub(crate) struct NewWaiter {
    pub queues: Vec<QueueName>,
    pub pool: Option<PoolName>,
    pub by_load: bool,
    pub load: usize,
    /// Its worker has room for more jobs.
    pub has_room: bool,
}

impl Fetches {
    pub fn new(cap: Cap) -> Self {
        Self {
            owned: CapCounter::new(Capped::WaitingFetches, cap),
            all: BTreeMap::new(),
            by_deadline: BTreeSet::new(),
            by_worker: BTreeMap::new(),
            by_tenant: BTreeMap::new(),
            by_taker: BTreeMap::new(),
            by_pool: BTreeMap::new(),
            counts: Vec::new(),
            for_new_queue: BTreeMap::new(),
            tried: BTreeSet::new(),
        }
    }

    /// Whether one more fetch may wait.
    pub fn check_cap(&self, asker: Asker<'_>) -> Result<(), CapReached> {
        self.owned.check(asker)
    }

    pub fn add(
        &mut self,
        id: WaiterId,
        fetch: Fetch,
        deadline: u64,
        waits: NewWaiter,
        find: impl Fn(&str) -> Option<QueueIx>,
    ) {
        self.owned.add(fetch.tenant.as_ref());
        self.by_deadline.insert((deadline, id));
        if let Some(worker) = &fetch.worker {
            self.by_worker.entry(worker.clone()).or_default().insert(id);
        }
        if let Some(tenant) = &fetch.tenant {
            self.by_tenant.entry(tenant.clone()).or_default().insert(id);
        }
        let NewWaiter { queues, pool, by_load, load, has_room } = waits;
        let taker = Taker { tenant: fetch.tenant.clone(), pool, by_load };
        let waiter = Waiter { fetch, deadline, taker, queues, load, listed: false };
        self.all.insert(id, waiter);
        if has_room {
            self.list(id, &find);
        }
    }

    pub fn get(&self, id: WaiterId) -> Option<&Waiter> {
        self.all.get(&id)
    }

    pub fn remove(
        &mut self,
        id: WaiterId,
        find: impl Fn(&str) -> Option<QueueIx>,
    ) -> Option<Fetch> {
        self.unlist(id, &find);
        let waiter = self.all.remove(&id)?;
        self.owned.remove(waiter.fetch.tenant.as_ref());
        self.by_deadline.remove(&(waiter.deadline, id));
        remove_id(&mut self.by_worker, waiter.fetch.worker.as_ref(), id);
        remove_id(&mut self.by_tenant, waiter.fetch.tenant.as_ref(), id);
        Some(waiter.fetch)
    }

    /// Puts a fetch whose worker has room into the indexes.
    fn list(&mut self, id: WaiterId, find: &impl Fn(&str) -> Option<QueueIx>) {
        let Some(waiter) = self.all.get_mut(&id).filter(|waiter| !waiter.listed) else { return };
        waiter.listed = true;
        let (taker, rank) = (waiter.taker.clone(), waiter.rank(id));
        if let Some(pool) = taker.pool.clone() {
            let requests = self.by_pool.entry(pool).or_default();
            requests.entry(waiter.request()).or_default().insert(rank);
        }
        for name in waiter.queues.clone() {
            match find(&name) {
                Some(queue) => self.list_in(queue, taker.clone(), rank),
                None => {
                    self.for_new_queue.entry(name).or_default().insert(id);
                }
            }
        }
    }

    fn list_in(&mut self, queue: QueueIx, taker: Taker, rank: (usize, WaiterId)) {
        let of_tenant = taker.tenant.is_some();
        if self.by_taker.entry((queue, taker)).or_default().insert(rank) {
            let index = queue.0 as usize;
            if self.counts.len() <= index {
                self.counts.resize(index + 1, (0, 0));
            }
            let (any_tenant, one_tenant) = &mut self.counts[index];
            *(if of_tenant { one_tenant } else { any_tenant }) += 1;
        }
    }

    fn unlist(&mut self, id: WaiterId, find: &impl Fn(&str) -> Option<QueueIx>) {
        let Some(waiter) = self.all.get_mut(&id).filter(|waiter| waiter.listed) else { return };
        waiter.listed = false;
        let (taker, rank) = (waiter.taker.clone(), waiter.rank(id));
        if let Some(pool) = &taker.pool {
            let request = waiter.request();
            let requests = self.by_pool.entry(pool.clone()).or_default();
            let alike = requests.entry(request.clone()).or_default();
            alike.remove(&rank);
            if alike.is_empty() {
                requests.remove(&request);
            }
            if requests.is_empty() {
                self.by_pool.remove(pool);
            }
        }
        for name in waiter.queues.clone() {
            if let Some(ids) = self.for_new_queue.get_mut(&name) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.for_new_queue.remove(&name);
                }
            }
            let Some(queue) = find(&name) else { continue };
            let key = (queue, taker.clone());
            let Some(ranks) = self.by_taker.get_mut(&key) else { continue };
            if ranks.remove(&rank) {
                let (any_tenant, one_tenant) = &mut self.counts[queue.0 as usize];
                *(if taker.tenant.is_some() { one_tenant } else { any_tenant }) -= 1;
            }
            if ranks.is_empty() {
                self.by_taker.remove(&key);
            }
        }
    }

    /// Indexes the fetches that waited for a queue which now exists.
    pub fn queue_created(&mut self, name: &QueueName, queue: QueueIx) {
        for id in self.for_new_queue.remove(name).unwrap_or_default() {
            if let Some(waiter) = self.all.get(&id) {
                let (taker, rank) = (waiter.taker.clone(), waiter.rank(id));
                self.list_in(queue, taker, rank);
            }
        }
    }

    /// Updates the load of a worker and whether it has room. Returns its fetches that had no room
    /// before and have some now.
    pub fn worker_changed(
        &mut self,
        worker: &WorkerId,
        load: usize,
        has_room: bool,
        find: impl Fn(&str) -> Option<QueueIx>,
    ) -> Vec<WaiterId> {
        let ids = self.by_worker.get(worker).into_iter().flatten().copied();
        let mut ready = Vec::new();
        for id in ids.collect::<Vec<_>>() {
            let Some(waiter) = self.all.get(&id) else { continue };
            if waiter.load == load && waiter.listed == has_room {
                continue;
            }
            let was_listed = waiter.listed;
            self.unlist(id, &find);
            if let Some(waiter) = self.all.get_mut(&id) {
                waiter.load = load;
            }
            if has_room {
                self.list(id, &find);
                if !was_listed {
                    ready.push(id);
                }
            }
        }
        ready
    }

    pub fn has_worker(&self, worker: &WorkerId) -> bool {
        self.by_worker.contains_key(worker)
    }

    /// Tenants for whose jobs alone fetches wait in this queue.
    pub fn tenants_waiting_for(&self, queue: QueueIx) -> BTreeSet<TenantId> {
        let all = (queue, Taker { tenant: None, pool: None, by_load: false })..;
        let takers = self.by_taker.range(all).take_while(|((other, _), _)| *other == queue);
        takers.filter_map(|((_, taker), _)| taker.tenant.clone()).collect()
    }

    pub fn of_worker(&self, worker: &WorkerId) -> Vec<WaiterId> {
        self.by_worker.get(worker).into_iter().flatten().copied().collect()
    }

    /// Whether fetches wait for jobs of any tenant in this queue.
    pub fn has_fetches_for(&self, queue: QueueIx) -> bool {
        self.counts.get(queue.0 as usize).is_some_and(|(any_tenant, _)| *any_tenant > 0)
    }

    /// Whether fetches wait for jobs of a single tenant in this queue.
    pub fn has_tenant_fetches_for(&self, queue: QueueIx) -> bool {
        self.counts.get(queue.0 as usize).is_some_and(|(_, one_tenant)| *one_tenant > 0)
    }

    pub fn count_for(&self, queue: QueueIx) -> usize {
        self.counts
            .get(queue.0 as usize)
            .map_or(0, |(any_tenant, one_tenant)| (any_tenant + one_tenant) as usize)
    }

    /// The fetch that gets the next job of any tenant in this queue.
    pub fn first_for(&self, queue: QueueIx, pools: &Pools) -> Option<WaiterId> {
        self.first_among(queue, None, pools)
    }

    pub fn first_of_tenant(
        &self,
        queue: QueueIx,
        tenant: &TenantId,
        pools: &Pools,
    ) -> Option<WaiterId> {
        self.first_among(queue, Some(tenant), pools)
    }

    fn first_among(
        &self,
        queue: QueueIx,
        tenant: Option<&TenantId>,
        pools: &Pools,
    ) -> Option<WaiterId> {
        let first = Taker { tenant: tenant.cloned(), pool: None, by_load: false };
        let takers = self.by_taker.range((queue, first)..);
        let takers = takers
            .take_while(|((other, taker), _)| *other == queue && taker.tenant.as_ref() == tenant);
        let with_room = takers.filter(|((_, taker), _)| pools.has_room(taker.pool.as_ref()));
        let untried = with_room.filter_map(|(_, ranks)| {
            let mut untried = ranks.iter().filter(|(_, id)| !self.tried.contains(id));
            let &(_, first) = untried.next()?;
            // Among takers, the one whose fetch has waited longest goes first.
            Some((longest_waiting(ranks)?, first))
        });
        untried.min().map(|(_, id)| id)
    }

    /// The fetch got nothing; it is not tried again until `forget_tried`.
    pub fn got_nothing(&mut self, id: WaiterId) {
        self.tried.insert(id);
    }

    pub fn forget_tried(&mut self) {
        self.tried.clear();
    }

    /// The fetch that is tried first when a pool has room: by `rank`, which depends on whose jobs it asks
    /// for, then the one that has waited longest.
    pub fn first_in_pool(
        &self,
        pool: &PoolName,
        rank: impl Fn(Option<&TenantId>) -> u128,
    ) -> Option<WaiterId> {
        let requests = self.by_pool.get(pool).into_iter().flatten();
        let untried = requests.filter_map(|((_, tenant), alike)| {
            let &(_, first) = alike.first()?;
            let tried = alike.iter().any(|(_, id)| self.tried.contains(id));
            Some((rank(tenant.as_ref()), longest_waiting(alike)?, first)).filter(|_| !tried)
        });
        untried.min().map(|(.., id)| id)
    }

    /// Whether fetches wait for jobs of this tenant alone.
    pub fn has_fetches_of(&self, queue: QueueIx, tenant: &TenantId) -> bool {
        let first = Taker { tenant: Some(tenant.clone()), pool: None, by_load: false };
        let taker = self.by_taker.range((queue, first)..).next();
        taker.is_some_and(|((other, taker), _)| {
            *other == queue && taker.tenant.as_ref() == Some(tenant)
        })
    }

    /// Number of fetches that wait for jobs of a single tenant in this queue.
    pub fn count_for_tenants(&self, queue: QueueIx) -> usize {
        self.counts.get(queue.0 as usize).map_or(0, |(_, one_tenant)| *one_tenant as usize)
    }

    /// All fetches, or those of one tenant.
    pub fn ids(&self, tenant: Option<&TenantId>) -> Vec<WaiterId> {
        match tenant {
            Some(tenant) => self.by_tenant.get(tenant).into_iter().flatten().copied().collect(),
            None => self.all.keys().copied().collect(),
        }
    }

    pub fn next_deadline(&self) -> Option<u64> {
        self.by_deadline.first().map(|&(deadline, _)| deadline)
    }

    /// A fetch whose deadline has passed.
    pub fn expired(&self, mono: u64) -> Option<WaiterId> {
        self.by_deadline.first().filter(|&&(deadline, _)| deadline <= mono).map(|&(_, id)| id)
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }
}

/// Removes a fetch from an index, and its entry with the last one.
fn remove_id<K: Ord>(index: &mut BTreeMap<K, BTreeSet<WaiterId>>, key: Option<&K>, id: WaiterId) {
    let Some((key, ids)) = key.and_then(|key| Some((key, index.get_mut(key)?))) else { return };
    ids.remove(&id);
    if ids.is_empty() {
        index.remove(key);
    }
}

/// The fetch that has waited longest. Ordered by load, only the 64 least loaded are compared.
fn longest_waiting(ranks: &BTreeSet<(usize, WaiterId)>) -> Option<WaiterId> {
    ranks.iter().take(64).map(|(_, id)| *id).min()
}

impl Waiter {
    pub fn queues(&self) -> &[QueueName] {
        &self.queues
    }

    pub fn pool(&self) -> Option<&PoolName> {
        self.taker.pool.as_ref()
    }

    pub fn deadline(&self) -> u64 {
        self.deadline
    }

    fn request(&self) -> Request {
        (self.fetch.queues.clone(), self.fetch.tenant.clone())
    }

    fn rank(&self, id: WaiterId) -> (usize, WaiterId) {
        (if self.taker.by_load { self.load } else { 0 }, id)
    }
}
