//! Tenants' usage: journaled with each batch, and written by hour and day.
//!
//! A tenant's usage since its last flush is added to its hour and day in the batch that flushes it.
//! A restart adds up what came after that, so everything is counted once.

use std::collections::VecDeque;

use rota_model::mutation::Mutation;
use rota_model::usage::{Usage, UsagePer, UsageRow};
use rota_model::{Millis, TenantId};

use super::{Counter, Journal};
use crate::Engine;
use crate::meters::{SLOT_MS, slot_of};
use crate::tenant::{Tally, Tenant, TenantIx};

/// Tenants whose usage of past hours is written with one batch.
const SLICE: usize = 64;
/// Periods deleted in one step, of each length.
const FORGET: u32 = 256;

/// What a tenant did in one batch, within one slot of the last minute.
pub(crate) struct TenantDelta {
    pub tenant: TenantIx,
    /// A time within the slot, and the slot's end.
    pub at: Millis,
    pub(super) until: Millis,
    /// It was added to the tenant's counters.
    pub(super) counted: bool,
    pub tally: Tally,
    pub discarded: u32,
    pub run_ms: u64,
    pub bytes: u64,
}

impl TenantDelta {
    pub fn empty(tenant: TenantIx, at: Millis) -> Self {
        let (tally, until) = (Tally::default(), Millis((i64::from(slot_of(at)) + 1) * SLOT_MS));
        Self { tenant, at, until, counted: false, tally, discarded: 0, run_ms: 0, bytes: 0 }
    }

    pub fn usage(&self) -> Usage {
        let Tally { enqueued, started, completed, failed, .. } = self.tally;
        Usage {
            enqueued: enqueued.into(),
            bytes: self.bytes,
            started: started.into(),
            completed: completed.into(),
            failed: failed.into(),
            run_ms: self.run_ms,
            discarded: self.discarded.into(),
        }
    }
}

/// Tenants with unwritten usage, each listed once, with the first hour of it.
#[derive(Default)]
pub(crate) struct Unwritten {
    tenants: VecDeque<(Millis, TenantIx)>,
    /// The current batch will write some of it.
    batch_begun: bool,
}

impl Unwritten {
    /// When the next batch is needed, because an hour with unwritten usage has ended.
    pub fn next(&self) -> Option<Millis> {
        let first = self.tenants.front().filter(|_| !self.batch_begun);
        first.map(|(hour, _)| hour.saturating_add_ms(UsagePer::Hour.ms()))
    }
}

/// A tenant's usage that is not written yet.
#[derive(Debug, Clone, Default)]
pub struct UnwrittenUsage {
    /// By start of the hour, oldest first.
    pub hours: Vec<(Millis, Usage)>,
    /// How often usage was written since the process began.
    pub writes: u32,
    /// When the tenant was created. Older rows belong to an earlier tenant of the same name.
    pub created: Millis,
}

impl Journal {
    /// What a tenant did in the current batch.
    pub fn pending_delta(&self, tenant: &Tenant) -> Option<&TenantDelta> {
        (tenant.delta_slot as usize).checked_sub(1).map(|index| &self.tenants[index])
    }
}

impl Engine {
    /// Where counts of what a tenant does now are added.
    pub(crate) fn tenant_delta(&mut self, ix: TenantIx) -> &mut TenantDelta {
        match (self.tenants.get(ix).delta_slot as usize).checked_sub(1) {
            Some(index) if self.journal.tenants[index].until > self.now.wall => {
                &mut self.journal.tenants[index]
            }
            before => self.begin_tenant_delta(ix, before),
        }
    }

    fn begin_tenant_delta(&mut self, ix: TenantIx, before: Option<usize>) -> &mut TenantDelta {
        if let Some(before) = before {
            let mut delta = std::mem::replace(
                &mut self.journal.tenants[before],
                TenantDelta::empty(ix, self.now.wall),
            );
            self.count_tenant_delta(&mut delta);
            self.journal.tenants[before] = delta;
        }
        let index = self.journal.tenants.len();
        self.tenants.get_mut(ix).delta_slot = index as u32 + 1;
        self.journal.tenants.push(TenantDelta::empty(ix, self.now.wall));
        &mut self.journal.tenants[index]
    }

    /// A tenant's unwritten usage; `None` if there is no such tenant.
    #[must_use]
    pub fn unwritten_usage(&self, id: &TenantId) -> Option<UnwrittenUsage> {
        let tenant = self.tenants.get(self.tenants.find(id)?);
        let created = tenant.row.created;
        let counters = tenant.counters.as_ref();
        Some(counters.map_or_else(Default::default, |counters| UnwrittenUsage {
            hours: counters.usage.clone(),
            writes: counters.usage_writes,
            created,
        }))
    }

    /// Adds a delta to the tenant's last minute, day and unwritten usage, once.
    pub(super) fn count_tenant_delta(&mut self, delta: &mut TenantDelta) {
        if std::mem::replace(&mut delta.counted, true) {
            return;
        }
        self.count_tally(delta.tenant, delta.tally, delta.at);
        let tenant = self.tenants.get_mut(delta.tenant);
        let hour = tenant.counters.get_or_insert_default().add_usage(&delta.usage(), delta.at);
        if !std::mem::replace(&mut tenant.usage_queued, true) {
            self.journal.unwritten.tenants.push_back((hour, delta.tenant));
        }
    }

    /// Adds to the tenant's last minute and day.
    pub(super) fn count_tally(&mut self, ix: TenantIx, tally: Tally, at: Millis) {
        let counters = self.tenants.get_mut(ix).counters.get_or_insert_default();
        let was_empty = counters.minute.is_empty();
        counters.add(tally, at);
        if was_empty && !counters.minute.is_empty() {
            self.tenants.note_recent(ix, at);
        }
    }

    /// Marks a tenant as changed by this batch.
    pub(super) fn mark_tenant_dirty(&mut self, ix: TenantIx, number: u64) {
        if !std::mem::replace(&mut self.tenants.get_mut(ix).dirty, true) {
            self.journal.dirty.push_back((number, Counter::Tenant(ix)));
        }
    }

    /// Writes a tenant's usage. Part of flushing the tenant.
    pub(super) fn write_usage(&mut self, ix: TenantIx, out: &mut Vec<Mutation>) {
        let tenant = self.tenants.get_mut(ix);
        let Some(counters) = &mut tenant.counters else { return };
        counters.usage_writes += u32::from(!counters.usage.is_empty());
        let row = |(at, usage)| UsageRow { tenant: tenant.id.clone(), at, usage };
        // Keep the memory: most tenants that are flushed go on.
        out.extend(counters.usage.drain(..).map(row).map(Mutation::AddUsage));
    }

    /// Flushes tenants with unwritten usage of past hours, a bounded number with each batch.
    pub(super) fn write_past_usage(&mut self, out: &mut Vec<Mutation>) {
        let hour = UsagePer::Hour.start_of(self.wall());
        self.journal.unwritten.batch_begun = false;
        for _ in 0..SLICE {
            let unwritten = &mut self.journal.unwritten.tenants;
            let front = unwritten.front().filter(|(since, _)| *since < hour);
            let Some(&(_, ix)) = front else { return };
            unwritten.pop_front();
            let tenant = self.tenants.get_mut(ix);
            let first = tenant.counters.as_ref().and_then(|counters| counters.usage.first());
            match first.map(|(first, _)| *first) {
                Some(first) if first < hour => {
                    tenant.usage_queued = false;
                    self.flush_tenant(ix, out);
                }
                Some(first) => self.journal.unwritten.tenants.push_back((first, ix)),
                None => tenant.usage_queued = false,
            }
        }
    }

    /// If usage of a past hour is unwritten: makes sure that there is a batch, and deletes old
    /// usage at least as fast as new usage is written.
    pub(crate) fn advance_usage(&mut self) {
        if self.journal.unwritten.next().is_some_and(|due| due <= self.wall()) {
            self.forget_old_usage();
            self.journal.unwritten.batch_begun = true;
        }
    }

    pub(crate) fn forget_old_usage(&mut self) {
        for per in UsagePer::ALL {
            let keep_ms = match per {
                UsagePer::Hour => self.config.usage_hours_ms,
                UsagePer::Day => self.config.usage_days_ms,
            };
            let before = per.start_of(self.wall().saturating_sub_ms(keep_ms as i64));
            self.out.mutations.push(Mutation::ForgetUsage { per, before, most: FORGET });
        }
    }

    /// A tenant is deleted: removes its usage, so the next tenant of its name begins with none.
    pub(crate) fn forget_usage(&mut self, ix: TenantIx) {
        let now = self.now.wall;
        let tenant = self.tenants.get_mut(ix);
        tenant.counters = None;
        // Entries from before this time are skipped in a replay.
        tenant.row.created = now;
        if let Some(batch) = (tenant.delta_slot as usize).checked_sub(1) {
            self.journal.tenants[batch] =
                TenantDelta { counted: true, ..TenantDelta::empty(ix, now) };
            tenant.delta_slot = 0;
        }
        let id = tenant.id.clone();
        self.out.mutations.push(Mutation::ForgetTenantUsage(id));
    }
}
