//! Slots for connections: how many there are, who gets one, and who has to give one up.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore};

use super::address::{AddressGroup, Addresses};
use super::eviction::{Incomplete, beyond_share};
use super::progress::Progress;

/// In a slot that is kept back, the time that a client has to send its request while others wait for
/// the slot.
const MIN_READ_TIME: Duration = Duration::from_millis(2);
/// In an ordinary slot, the time that a client has to send its request while connections are short.
const FAIR_READ_TIME: Duration = Duration::from_secs(1);
/// How long a new connection waits for a slot before it gets one in which only probes are answered.
const MAX_WAIT: Duration = Duration::from_millis(100);
/// Between two searches for connections that have to give up their slots.
const SEARCH_INTERVAL: Duration = Duration::from_millis(50);
/// Slots for probes while all other slots are in use, and as many for addresses that have used up
/// theirs.
const PROBE_SLOTS: usize = 8;

/// What a connection in the slot may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Ordinary,
    /// One request that does not wait. A twentieth of the slots, so that clients which occupy all
    /// others, with waiting requests or idle connections, lock nobody out.
    KeptBack,
    /// One probe, while all other slots are in use.
    Probe,
    /// One probe, for an address that has used up its connections.
    OverCap,
}

/// All slots.
pub(super) struct Slots {
    inner: Arc<Inner>,
    capacity: Free,
    addresses: Addresses,
}

struct Inner {
    table: Mutex<Table>,
    /// A slot was freed.
    freed: Notify,
}

/// The connections that are open.
struct Table {
    free: Free,
    groups: HashMap<AddressGroup, Group>,
    /// By class, and within a class the oldest first.
    open: BTreeMap<(Class, u64), Open>,
    next_id: u64,
    searched: Option<Instant>,
}

/// The connections of one address.
struct Group {
    connections: usize,
    handshakes: Option<Arc<Semaphore>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Free {
    ordinary: usize,
    kept_back: usize,
    probe: usize,
    over_cap: usize,
}

struct Open {
    group: AddressGroup,
    progress: Arc<Progress>,
    cut: Arc<Notify>,
}

/// A connection's slot; dropping it frees the slot.
pub(super) struct Slot {
    id: u64,
    class: Class,
    progress: Arc<Progress>,
    cut: Arc<Notify>,
    handshakes: Option<Arc<Semaphore>>,
    inner: Arc<Inner>,
}

impl Slots {
    pub fn new(max_connections: usize, addresses: Addresses) -> Self {
        let kept_back = (max_connections / 20).max(1).min(max_connections - 1);
        let capacity = Free {
            ordinary: max_connections - kept_back,
            kept_back,
            probe: PROBE_SLOTS,
            over_cap: PROBE_SLOTS,
        };
        let table = Table {
            free: capacity,
            groups: HashMap::new(),
            open: BTreeMap::new(),
            next_id: 0,
            searched: None,
        };
        let inner = Arc::new(Inner { table: Mutex::new(table), freed: Notify::new() });
        Self { inner, capacity, addresses }
    }

    /// Waits for a slot for a new connection. While all are taken, closes connections that have not sent
    /// a complete request, so idle connections and unfinished requests block nobody. `None` if the
    /// address has used up its connections and must be turned away.
    pub async fn acquire(&self, address: IpAddr) -> Option<Slot> {
        let group = AddressGroup::of(address);
        let is_over = self.table().is_over(group, self.addresses.max_connections(address));
        if is_over {
            tracing::debug!(%address, "the address has used up its connections");
            return self.take_over_cap(address, group);
        }
        let begun = Instant::now();
        loop {
            let freed = self.inner.freed.notified();
            if let Some(slot) = self.try_take(address, group, begun.elapsed() >= MAX_WAIT) {
                return Some(slot);
            }
            let _ = tokio::time::timeout(MIN_READ_TIME, freed).await;
        }
    }

    /// Waits until all connections have ended, also those that are WebSockets by now.
    pub async fn all_free(&self) {
        loop {
            let freed = self.inner.freed.notified();
            if self.table().free == self.capacity {
                return;
            }
            freed.await;
        }
    }

    fn try_take(&self, address: IpAddr, group: AddressGroup, has_waited: bool) -> Option<Slot> {
        let mut table = self.table();
        let class = if table.free.ordinary > 0 {
            Class::Ordinary
        } else {
            table.close_beyond_share(self.capacity.ordinary);
            if table.free.kept_back > 0 {
                Class::KeptBack
            } else if table.close_incomplete(Class::KeptBack, self.capacity.kept_back)
                || !has_waited
            {
                return None;
            } else if table.free.probe > 0 {
                Class::Probe
            } else {
                table.close_incomplete(Class::Probe, self.capacity.probe);
                return None;
            }
        };
        Some(self.take(&mut table, address, group, class))
    }

    fn take_over_cap(&self, address: IpAddr, group: AddressGroup) -> Option<Slot> {
        let mut table = self.table();
        if table.free.over_cap == 0 {
            table.close_incomplete(Class::OverCap, self.capacity.over_cap);
            return None;
        }
        Some(self.take(&mut table, address, group, Class::OverCap))
    }

    fn take(&self, table: &mut Table, address: IpAddr, group: AddressGroup, class: Class) -> Slot {
        let (progress, cut) = (Arc::new(Progress::new()), Arc::new(Notify::new()));
        let max_handshakes = self.addresses.max_handshakes(address);
        let handshakes = table.add(group, class, max_handshakes);
        let id = table.next_id;
        table.next_id += 1;
        let open = Open { group, progress: progress.clone(), cut: cut.clone() };
        table.open.insert((class, id), open);
        Slot { id, class, progress, cut, handshakes, inner: self.inner.clone() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.inner.table()
    }
}

impl Inner {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Whether the address has as many connections as it may have.
    fn is_over(&self, group: AddressGroup, max_connections: Option<usize>) -> bool {
        let connections = self.groups.get(&group).map_or(0, |group| group.connections);
        max_connections.is_some_and(|most| connections >= most)
    }

    fn add(
        &mut self,
        group: AddressGroup,
        class: Class,
        max_handshakes: Option<usize>,
    ) -> Option<Arc<Semaphore>> {
        *self.free.of(class) -= 1;
        let handshakes = || max_handshakes.map(|most| Arc::new(Semaphore::new(most)));
        let group = self
            .groups
            .entry(group)
            .or_insert_with(|| Group { connections: 0, handshakes: handshakes() });
        group.connections += 1;
        group.handshakes.clone()
    }

    fn remove(&mut self, class: Class, id: u64) {
        let Some(open) = self.open.remove(&(class, id)) else { return };
        *self.free.of(class) += 1;
        if let Some(group) = self.groups.get_mut(&open.group) {
            group.connections -= 1;
            if group.connections == 0 {
                self.groups.remove(&open.group);
            }
        }
    }

    /// Closes requests in ordinary slots that have been incomplete for long, of addresses with more of
    /// them than an equal share. Frees many slots at a time, so that it is not needed for every connection.
    fn close_beyond_share(&mut self, slots: usize) {
        let now = Instant::now();
        if self.searched.is_some_and(|searched| now - searched < SEARCH_INTERVAL) {
            return;
        }
        self.searched = Some(now);
        let incomplete = self.incomplete(Class::Ordinary, FAIR_READ_TIME);
        let closed = beyond_share(incomplete, self.share(slots), (slots / 20).max(1));
        if !closed.is_empty() {
            tracing::warn!(
                connections = closed.len(),
                "connections are short: closed some whose requests were not sent completely"
            );
        }
        self.close(Class::Ordinary, &closed);
    }

    /// Closes some connections of this class that have not sent a complete request and have had the time
    /// to: those beyond their address's share of the slots or, if there are none, the oldest. Says whether
    /// there is any without a complete request.
    fn close_incomplete(&self, class: Class, slots: usize) -> bool {
        let mut incomplete = self.incomplete(class, Duration::ZERO);
        if incomplete.is_empty() {
            return false;
        }
        incomplete.retain(|connection| connection.age >= MIN_READ_TIME);
        let oldest = incomplete.first().map(|connection| connection.id);
        let mut closed = beyond_share(incomplete, self.share(slots), (slots / 8).max(1));
        if closed.is_empty() {
            closed.extend(oldest);
        }
        self.close(class, &closed);
        true
    }

    /// The connections of this class that have owed the rest of a request for this long, oldest first.
    fn incomplete(&self, class: Class, min_age: Duration) -> Vec<Incomplete> {
        let of_class = self.open.range((class, 0)..=(class, u64::MAX));
        let incomplete = of_class.filter_map(|((_, id), open)| {
            let age = open.progress.incomplete_for().filter(|age| *age >= min_age)?;
            Some(Incomplete { id: *id, group: open.group, age })
        });
        incomplete.collect()
    }

    /// An equal part of the slots for each address that has connections, and for one more.
    fn share(&self, slots: usize) -> usize {
        slots / (self.groups.len() + 1)
    }

    fn close(&self, class: Class, ids: &[u64]) {
        for id in ids {
            if let Some(open) = self.open.get(&(class, *id)) {
                open.cut.notify_one();
            }
        }
    }
}

impl Free {
    fn of(&mut self, class: Class) -> &mut usize {
        match class {
            Class::Ordinary => &mut self.ordinary,
            Class::KeptBack => &mut self.kept_back,
            Class::Probe => &mut self.probe,
            Class::OverCap => &mut self.over_cap,
        }
    }
}

impl Slot {
    pub fn class(&self) -> Class {
        self.class
    }

    /// Whether the slot is for one request that does not wait.
    pub fn is_kept_back(&self) -> bool {
        self.class != Class::Ordinary
    }

    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Closes the connection when notified.
    pub fn cut(&self) -> &Arc<Notify> {
        &self.cut
    }

    /// The handshakes that its address may have under way; `None` for any number.
    pub fn handshakes(&self) -> Option<&Arc<Semaphore>> {
        self.handshakes.as_ref()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.inner.table().remove(self.class, self.id);
        self.inner.freed.notify_waiters();
    }
}
