//! What tenants use: in the journal with each batch, and written down by the hour.
//!
//! What a tenant used since it was last written out is added to its hour and its day in the batch
//! that writes it out. A start adds up what came after that, so everything is counted once.

use std::collections::VecDeque;

use rota_model::mutation::Mutation;
use rota_model::usage::{Usage, UsagePer, UsageRow};
use rota_model::{Millis, TenantId};

use super::{Counter, Journal};
use crate::Engine;
use crate::meters::{SLOT_MS, slot_of};
use crate::tenant::{Tally, Tenant, TenantIx};

/// The most tenants whose usage of an hour that is over is written down with one batch.
const SLICE: usize = 64;
/// The most periods that are forgotten in one step, of each length.
const FORGET: u32 = 256;

/// What a tenant did in one batch, within one slot of the last minute.
pub(crate) struct TenantDelta {
    pub tenant: TenantIx,
    /// A moment within the slot, and when the slot ends.
    pub at: Millis,
    pub(super) until: Millis,
    /// The tenant's counters have it already.
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

/// Tenants with usage that is not written down, each once, by an hour in which they had some.
#[derive(Default)]
pub(crate) struct Unwritten {
    tenants: VecDeque<(Millis, TenantIx)>,
    /// There is something in the batch under way, which will write some of it down.
    batch_begun: bool,
}

impl Unwritten {
    /// When there should be a batch, because an hour is over of which something is to be written down.
    pub fn next(&self) -> Option<Millis> {
        let first = self.tenants.front().filter(|_| !self.batch_begun);
        first.map(|(hour, _)| hour.saturating_add_ms(UsagePer::Hour.ms()))
    }
}

/// What a tenant used that is not written down yet.
#[derive(Debug, Clone, Default)]
pub struct UnwrittenUsage {
    /// By the hour's beginning, oldest first.
    pub hours: Vec<(Millis, Usage)>,
    /// How often something was written down since the process began.
    pub writes: u32,
    /// Of a tenant that had the same name before, there is nothing after this.
    pub created: Millis,
}

impl Journal {
    /// What a tenant did in the batch under way and its counters do not have yet.
    pub fn pending_delta(&self, tenant: &Tenant) -> Option<&TenantDelta> {
        (tenant.delta_slot as usize).checked_sub(1).map(|index| &self.tenants[index])
    }
}

impl Engine {
    /// What a tenant does now is to be added to this.
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

    /// What a tenant used, as far as it is not written down; `None` where there is no such tenant.
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

    /// Adds to the tenant's last minute, day and unwritten usage, unless they have it already.
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

    /// A tenant is to be written out, because of what it did in this batch.
    pub(super) fn mark_tenant_dirty(&mut self, ix: TenantIx, number: u64) {
        if !std::mem::replace(&mut self.tenants.get_mut(ix).dirty, true) {
            self.journal.dirty.push_back((number, Counter::Tenant(ix)));
        }
    }

    /// Adds what a tenant used to its hours and days, in the batch that writes the tenant out.
    pub(super) fn write_usage(&mut self, ix: TenantIx, out: &mut Vec<Mutation>) {
        let tenant = self.tenants.get_mut(ix);
        let Some(counters) = &mut tenant.counters else { return };
        counters.usage_writes += u32::from(!counters.usage.is_empty());
        let row = |(at, usage)| UsageRow { tenant: tenant.id.clone(), at, usage };
        // The memory stays: most tenants that are written out go on.
        out.extend(counters.usage.drain(..).map(row).map(Mutation::AddUsage));
    }

    /// Writes tenants out that have usage of an hour that is over, some with each batch.
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

    /// While usage of an hour that is over is to be written down: sees to it that there is a batch,
    /// and that what is too old goes at least as fast.
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

    /// A tenant is deleted: whoever has its name next, and whatever is left of it, begins with nothing.
    pub(crate) fn forget_usage(&mut self, ix: TenantIx) {
        let now = self.now.wall;
        let tenant = self.tenants.get_mut(ix);
        tenant.counters = None;
        // What the journal has from before is not counted again at a start.
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
