//! Dispatches of the last minute in the journal, of queues, pools and accounts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use rota_model::mutation::{Mutation, RowKind};
use rota_model::{Millis, PoolName};
use serde::{Deserialize, Serialize};

use super::text::end_list;
use super::{Counter, put};
use crate::Engine;
use crate::meters::{LastMinute, Sum, slot_of};
use crate::queue::QueueIx;
use crate::scheduler::RotationKey;
use crate::stats::Dispatches;

/// What a dispatch is counted for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dispatcher {
    /// A queue. Its dispatches of a batch are in the batch's minutes.
    Queue(QueueIx),
    Pool(PoolName),
    /// The shared account of a pool or set.
    Shared(RotationKey),
    /// Dispatches from a queue that its own account was not charged for.
    Elsewhere(QueueIx),
}

#[derive(Default)]
pub(crate) struct DispatchJournal {
    /// Dispatches of the current batch.
    pub batch: BTreeMap<Dispatcher, Dispatches>,
    /// Changed since they were flushed.
    dirty: BTreeSet<Dispatcher>,
    /// Counted anew in the current batch, so what older entries say no longer holds.
    anew: BTreeSet<Dispatcher>,
}

/// The stored row, named `queue/<name>`, `pool/<name>`, `shared/<rotation>` or `elsewhere/<queue>`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DispatchState {
    pub as_of: u64,
    pub minute: LastMinute<Dispatches>,
}

impl DispatchJournal {
    pub fn add(&mut self, dispatcher: Dispatcher, dispatches: Dispatches) {
        self.batch.entry(dispatcher).or_default().add(dispatches);
    }
}

impl Engine {
    pub(super) fn write_dispatches(&mut self, out: &mut String) {
        let batch = std::mem::take(&mut self.journal.dispatches.batch);
        if batch.is_empty() {
            return;
        }
        end_list(out, r#""dispatches":["#);
        for (dispatcher, Dispatches { count, waits, waited_ms }) in batch {
            let name = self.dispatcher_name(&dispatcher);
            let _ = write!(out, r#"["{name}",{count},{waits},{waited_ms}],"#);
            self.mark_dispatches_dirty(dispatcher, self.journal.number);
        }
    }

    /// Begins to count anew what accounts are charged for, because the scope of a pool has changed:
    /// what was dispatched in the old scope tells nothing about the new one.
    pub(crate) fn count_charges_anew(&mut self) {
        let with_dispatches = |ix| (ix, self.queues.get(ix).stats.dispatches.clone());
        let queues = self.queues.existing_after("").map(with_dispatches);
        let counts: Vec<_> = queues.filter(|(_, minute)| !minute.is_empty()).collect();
        let anew = &mut self.journal.dispatches.anew;
        anew.extend(counts.iter().map(|(ix, _)| Dispatcher::Elsewhere(*ix)));
        let shared = self.account_watch.begin_anew(counts.into_iter(), self.now.wall);
        anew.extend(shared.into_iter().map(Dispatcher::Shared));
    }

    /// Writes what was counted anew at once, also if it is nothing.
    pub(super) fn write_dispatches_anew(&mut self, out: &mut Vec<Mutation>) {
        let as_of = self.journal.number;
        for dispatcher in std::mem::take(&mut self.journal.dispatches.anew) {
            let minute = self.dispatches_of(&dispatcher).clone();
            let name = self.dispatcher_name(&dispatcher);
            out.push(put(RowKind::DispatchState, &name, &DispatchState { as_of, minute }));
        }
    }

    pub(super) fn mark_dispatches_dirty(&mut self, dispatcher: Dispatcher, number: u64) {
        if self.journal.dispatches.dirty.insert(dispatcher.clone()) {
            self.journal.dirty.push_back((number, Counter::Dispatches(dispatcher)));
        }
    }

    pub(super) fn flush_dispatches(&mut self, dispatcher: &Dispatcher, out: &mut Vec<Mutation>) {
        if !self.journal.dispatches.dirty.remove(dispatcher) {
            // The queue is gone, and its index may be in use again.
            return;
        }
        let (as_of, now) = (self.journal.number, self.wall());
        let name = self.dispatcher_name(dispatcher);
        let minute = self.dispatches_of(dispatcher);
        minute.trim(now);
        let minute = minute.clone();
        // A row is kept while older entries say more than it does.
        let is_empty = minute.is_empty() && !self.account_watch.is_new(now);
        out.push(match is_empty {
            true => Mutation::Remove(RowKind::DispatchState, name.into()),
            false => put(RowKind::DispatchState, &name, &DispatchState { as_of, minute }),
        });
        match dispatcher {
            Dispatcher::Shared(key) if is_empty => _ = self.account_watch.forget_shared(key),
            Dispatcher::Elsewhere(ix) if is_empty => _ = self.account_watch.forget_queue(*ix),
            _ => {}
        }
    }

    /// A pool or set has lost its account. Its row is removed at the next flush.
    pub(super) fn forget_shared_dispatches(&mut self, key: &RotationKey) {
        self.journal.dispatches.anew.remove(&Dispatcher::Shared(key.clone()));
        if self.account_watch.forget_shared(key) {
            self.mark_dispatches_dirty(Dispatcher::Shared(key.clone()), self.journal.number);
        }
    }

    /// During replay: a queue was deleted in this batch, so what was read so far was about that
    /// queue.
    pub(super) fn replay_deleted_dispatches(&mut self, number: u64, queue: &str) {
        let is_flushed = self.journal.is_flushed(&as_of_name(&format!("queue/{queue}")), number);
        if let Some(ix) = self.queues.find(queue).filter(|_| !is_flushed) {
            self.queues.get_mut(ix).stats.dispatches = LastMinute::default();
        }
    }

    /// A queue is gone: removes its rows.
    pub(crate) fn forget_dispatches(&mut self, queue: QueueIx) {
        self.forget_dispatcher(&Dispatcher::Queue(queue));
        if self.account_watch.forget_queue(queue) {
            self.forget_dispatcher(&Dispatcher::Elsewhere(queue));
        }
    }

    fn forget_dispatcher(&mut self, dispatcher: &Dispatcher) {
        self.journal.dispatches.dirty.remove(dispatcher);
        self.journal.dispatches.anew.remove(dispatcher);
        let name = self.dispatcher_name(dispatcher);
        self.out.mutations.push(Mutation::Remove(RowKind::DispatchState, name.into()));
    }

    /// A pool is gone: removes its row.
    pub(crate) fn forget_pool_dispatches(&mut self, pool: &PoolName) {
        self.forget_dispatcher(&Dispatcher::Pool(pool.clone()));
    }

    /// Restores a row after a restart; `false` if its queue or pool is gone.
    pub(crate) fn restore_dispatches(&mut self, name: &str, state: &DispatchState) -> bool {
        self.journal.set_flushed_to(&as_of_name(name), state.as_of);
        let Some(dispatcher) = self.dispatcher(name) else { return false };
        state.minute.slots().for_each(|(slot, counts)| {
            self.add_past_dispatches(&dispatcher, slot, counts);
        });
        true
    }

    pub(super) fn replay_dispatches(
        &mut self,
        number: u64,
        at: Millis,
        name: &str,
        counts: Dispatches,
    ) {
        if self.journal.is_flushed(&as_of_name(name), number) {
            return;
        }
        if let Some(dispatcher) = self.dispatcher(name) {
            self.add_past_dispatches(&dispatcher, slot_of(at), counts);
            self.mark_dispatches_dirty(dispatcher, number);
        }
    }

    fn add_past_dispatches(&mut self, dispatcher: &Dispatcher, slot: u32, counts: Dispatches) {
        self.dispatches_of(dispatcher).add_to(slot, counts);
        if let Dispatcher::Queue(_) = dispatcher {
            self.total.dispatches.add_to(slot, counts);
        }
    }

    fn dispatches_of(&mut self, dispatcher: &Dispatcher) -> &mut LastMinute<Dispatches> {
        match dispatcher {
            Dispatcher::Queue(ix) => &mut self.queues.get_mut(*ix).stats.dispatches,
            Dispatcher::Pool(pool) => self.pool_watch.dispatches(pool),
            Dispatcher::Shared(key) => self.account_watch.shared(key),
            Dispatcher::Elsewhere(ix) => self.account_watch.elsewhere(*ix),
        }
    }

    fn dispatcher_name(&self, dispatcher: &Dispatcher) -> String {
        match dispatcher {
            Dispatcher::Queue(ix) => format!("queue/{}", self.queues.get(*ix).name),
            Dispatcher::Pool(pool) => format!("pool/{pool}"),
            Dispatcher::Shared(key) => format!("shared/{}", key.name()),
            Dispatcher::Elsewhere(ix) => format!("elsewhere/{}", self.queues.get(*ix).name),
        }
    }

    /// Parses a row name; `None` if its queue or pool is gone.
    fn dispatcher(&self, name: &str) -> Option<Dispatcher> {
        if let Some(queue) = name.strip_prefix("queue/") {
            return self.queues.find(queue).map(Dispatcher::Queue);
        }
        if let Some(queue) = name.strip_prefix("elsewhere/") {
            return self.queues.find(queue).map(Dispatcher::Elsewhere);
        }
        if let Some(rotation) = name.strip_prefix("shared/") {
            let key = RotationKey::parse(rotation).filter(|key| self.has_rotation(key));
            return key.map(Dispatcher::Shared);
        }
        let pool = PoolName::stored(name.strip_prefix("pool/")?).ok()?;
        self.scheduler.pools().get(&pool).is_some().then_some(Dispatcher::Pool(pool))
    }
}

/// A space keeps these names apart from those of tenants, limits and rotations.
fn as_of_name(name: &str) -> String {
    format!("dispatches {name}")
}
