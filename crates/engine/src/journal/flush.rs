//! Flushing: writing counters as rows, so that old journal entries can be deleted.

use std::borrow::Cow;
use std::collections::BTreeSet;

use rota_model::mutation::{Mutation, RowKind};

use super::{Counter, put};
use crate::Engine;
use crate::scheduler::Owner;
use crate::scheduler::limits::{LimitIx, LimitState};
use crate::tenant::{TenantIx, TenantState};

impl Engine {
    pub(super) fn flush_one(&mut self, out: &mut Vec<Mutation>) {
        let Some((_, counter)) = self.journal.dirty.pop_front() else { return };
        match counter {
            Counter::Tenant(ix) => self.flush_tenant(ix, out),
            Counter::Limit(ix) => self.flush_limit(ix, out),
            Counter::Rotation(index) => self.journal.flush_rotation(index, out),
            Counter::Dispatches(dispatcher) => self.flush_dispatches(&dispatcher, out),
            Counter::Minute(queue) => self.flush_minute(queue, out),
        }
    }

    pub(super) fn flush_tenant(&mut self, ix: TenantIx, out: &mut Vec<Mutation>) {
        // The tenant may have been deleted, and its name or index reused.
        if !self.tenants.contains(ix) {
            return;
        }
        let was_dirty = std::mem::replace(&mut self.tenants.get_mut(ix).dirty, false);
        if !was_dirty || !self.tenants.is_live(ix) {
            return;
        }
        self.write_usage(ix, out);
        let tenant = self.tenants.get(ix);
        let offset = self.now.wall.0 - self.now.mono as i64;
        let (mut turns, mut shared_turns) = (Vec::new(), BTreeSet::new());
        for (owner, level, tag) in self.scheduler.tags_of(ix) {
            match owner {
                Owner::Queue(queue) => {
                    turns.push((self.queues.get(*queue).name.clone(), level, tag));
                }
                Owner::Shared(key) => {
                    shared_turns.insert((key.name(), level, tag));
                }
            }
        }
        let enqueued = tenant.enqueued.iter().flat_map(|window| window.starts());
        let state = TenantState {
            as_of: self.journal.number,
            counters: tenant.counters.as_deref().map_or_else(Cow::default, Cow::Borrowed),
            turns,
            shared_turns: shared_turns.into_iter().collect(),
            enqueued: enqueued.map(|(at, n)| (at + offset, n)).collect(),
        };
        out.push(put(RowKind::TenantState, &tenant.id, &state));
    }

    /// Removes tenants from the head of the list that were flushed early or are gone.
    pub(super) fn drop_flushed(&mut self) {
        while let Some((_, Counter::Tenant(ix))) = self.journal.dirty.front()
            && !(self.tenants.contains(*ix) && self.tenants.get(*ix).dirty)
        {
            self.journal.dirty.pop_front();
        }
    }

    pub(super) fn flush_limit(&mut self, ix: LimitIx, out: &mut Vec<Mutation>) {
        let (number, now) = (self.journal.number, self.scheduler.now());
        let limits = self.scheduler.limits();
        self.journal.dirty_limits.remove(&ix);
        if !limits.exists(ix) {
            return;
        }
        let limit = limits.limit(ix);
        let name = limit.partition.name();
        match limit.state(number, now) {
            Some(state) => out.push(put(RowKind::LimitState, &name, &state)),
            None => {
                out.push(Mutation::Remove(RowKind::LimitState, name.into()));
                self.forget_if_idle(ix);
            }
        }
    }

    /// Like [`Self::flush_limit`], but also writes an empty state, because older entries say
    /// otherwise.
    pub(super) fn write_undone(&self, ix: LimitIx, out: &mut Vec<Mutation>) {
        let (as_of, now) = (self.journal.number, self.scheduler.now());
        let limits = self.scheduler.limits();
        if limits.exists(ix) {
            let limit = limits.limit(ix);
            let none = || LimitState { as_of, ..LimitState::default() };
            let state = limit.state(as_of, now).unwrap_or_else(none);
            out.push(put(RowKind::LimitState, &limit.partition.name(), &state));
        }
    }
}
