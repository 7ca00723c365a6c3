//! Replaying the journal after a restart.

use rota_model::{Millis, TenantId};

use super::usage::TenantDelta;
use super::{Entry, TenantEntry};
use crate::Engine;
use crate::scheduler::limits::Partition;
use crate::scheduler::{RotationKey, Tag};
use crate::stats::Dispatches;
use crate::tenant::{Tally, TenantIx};

impl Engine {
    pub(crate) fn replay(&mut self, number: u64, entry: &Entry) {
        let offset = self.now.wall.0 - self.now.mono as i64;
        let at = Millis(entry.at);
        for &(ref id, enqueued, started, completed, failed) in &entry.tenants {
            let own = entry.own.iter().find(|(tenant, _)| tenant == id).map_or(0, |(_, own)| *own);
            let tally = Tally { enqueued, started, completed, failed, own };
            if let Some(tenant) = self.find_replayed_tenant(number, at, id) {
                self.count_tally(tenant, tally, at);
                self.replayed(tenant, number, tally, at);
            }
        }
        for tenant_entry in &entry.tenant_deltas {
            let &TenantEntry(ref id, enqueued, started, completed, failed, own, ..) = tenant_entry;
            let &TenantEntry(.., discarded, run_ms, bytes) = tenant_entry;
            let tally = Tally { enqueued, started, completed, failed, own };
            if let Some(tenant) = self.find_replayed_tenant(number, at, id) {
                let mut delta = TenantDelta {
                    tally,
                    discarded,
                    run_ms,
                    bytes,
                    ..TenantDelta::empty(tenant, at)
                };
                self.count_tenant_delta(&mut delta);
                self.replayed(tenant, number, tally, at);
            }
        }
        for (id, queue, level, tag) in &entry.turns {
            if let Some(ix) = self.tenants.find(id).filter(|_| !self.journal.is_flushed(id, number))
            {
                self.restore_turn(ix, queue, *level, *tag);
            }
        }
        for (id, rotation, level, tag) in &entry.shared_turns {
            if let Some(ix) = self.tenants.find(id).filter(|_| !self.journal.is_flushed(id, number))
            {
                self.restore_shared_turn(ix, rotation, *level, *tag, number);
            }
        }
        for (name, state) in &entry.rotations {
            if !self.journal.is_flushed(name, number) {
                self.restore_rotation(name, state);
                if let Some(key) = RotationKey::parse(name) {
                    self.journal.mark_rotation_dirty(&key, number);
                }
            }
        }
        for name in &entry.deleted {
            self.journal.minutes.replay_deleted(name);
            self.replay_deleted_dispatches(number, name);
        }
        for minute in &entry.minutes {
            self.replay_minute(number, at, minute);
        }
        for &(ref name, count, waits, waited_ms) in &entry.dispatches {
            let counts = Dispatches { count, waits, waited_ms };
            self.replay_dispatches(number, at, name, counts);
        }
        for (name, limit_entry) in &entry.limits {
            let Some(partition) = Partition::parse(name) else { continue };
            if self.journal.is_flushed(name, number) {
                continue;
            }
            let starts = limit_entry.starts.iter().map(|&(at, n)| (at - offset, n));
            let ix = self.scheduler.replay_starts(
                &partition,
                starts,
                &limit_entry.rates,
                limit_entry.throttle,
            );
            self.journal.mark_limit_dirty(ix, number);
        }
    }

    /// The tenant of an entry; `None` if its row includes the entry, or the entry is about an
    /// earlier tenant of the same name.
    fn find_replayed_tenant(&self, number: u64, at: Millis, id: &TenantId) -> Option<TenantIx> {
        let ix = self.tenants.find(id)?;
        let came_later = at < self.tenants.get(ix).row.created;
        (!came_later && !self.journal.is_flushed(id, number)).then_some(ix)
    }

    fn replayed(&mut self, tenant: TenantIx, number: u64, tally: Tally, at: Millis) {
        self.mark_tenant_dirty(tenant, number);
        if tally.enqueued > 0 {
            let offset = self.now.wall.0 - self.now.mono as i64;
            self.count_enqueued(tenant, tally.enqueued, at.0 - offset);
        }
    }

    /// Restores a tenant's tag in a queue's account.
    pub(crate) fn restore_turn(&mut self, ix: TenantIx, queue: &str, level: i32, tag: Tag) {
        if let Some(queue) = self.queues.find(queue) {
            self.scheduler.restore_tag(queue, ix, level, tag);
        }
    }

    /// Restores a tenant's tag in a shared account, as of this batch.
    pub(crate) fn restore_shared_turn(
        &mut self,
        ix: TenantIx,
        name: &str,
        level: i32,
        tag: Tag,
        number: u64,
    ) {
        if let Some(key) = RotationKey::parse(name) {
            self.scheduler.restore_shared_tag(key, ix, level, tag, number);
        }
    }
}
