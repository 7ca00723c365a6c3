//! Operator commands on tenants, and counting what tenants do.

use rota_model::mutation::{Mutation, RowKind};
use rota_model::{Millis, QueueName, State, TenantId};

use crate::command::{TenantChange, later};
use crate::meters::Sum;
use crate::queue::QueueIx;
use crate::scheduler::Reconfigured;
use crate::tenant::{ApiConfig, Counters, Tally, TenantIx};
use crate::{Change, Engine, EventKind, Refusal, Reply};

/// Entries in a tenant's log of changes.
const MOST_CHANGES: usize = 50;

impl Engine {
    /// The tenant's index. A new tenant is added and its row written.
    pub(crate) fn ensure_tenant(&mut self, id: &TenantId) -> TenantIx {
        let ix = match self.tenants.find(id) {
            Some(ix) => ix,
            None => self.add_tenant(id.clone(), self.wall()),
        };
        if !self.tenants.get(ix).written {
            self.write_tenant(ix);
        }
        ix
    }

    pub(crate) fn write_tenant(&mut self, ix: TenantIx) {
        let tenant = self.tenants.get_mut(ix);
        tenant.written = true;
        if tenant.row.api.is_some() {
            self.tenants.note_configured();
        }
        let tenant = self.tenants.get(ix);
        let (id, row) = (tenant.id.clone(), tenant.row.clone());
        self.put(RowKind::Tenant, &id, &row);
    }

    pub(crate) fn put_tenant(&mut self, id: &TenantId, change: TenantChange) -> Reply {
        let created = self.tenants.find(id).is_none_or(|ix| self.tenants.get(ix).row.api.is_none());
        let ix = self.ensure_tenant(id);
        self.tenants.revive(ix);
        let before = Some(self.tenants.get(ix).config().clone());
        let api = ApiConfig {
            config: change.config.clone(),
            updated: self.wall(),
            reason: change.reason.clone(),
        };
        let after = Some(change.config);
        let note = Change {
            at: self.wall(),
            what: change.what.into(),
            reason: change.reason,
            before,
            after,
        };
        self.reconfigure(ix, |tenant| {
            tenant.row.api = Some(api.into());
            push_change(&mut tenant.row.changes, note);
        });
        if created {
            self.emit(EventKind::TenantCreated { tenant: id.clone() });
        }
        Reply::Tenant { tenant: Box::new(self.tenant_view(ix)), created }
    }

    /// Changes a tenant's configuration. The change also applies to waiting jobs.
    fn reconfigure(&mut self, ix: TenantIx, change: impl FnOnce(&mut crate::tenant::Tenant)) {
        let cap = self.cap_of(ix);
        let request_limits = self.tenants.get(ix).config().request_limits.clone();
        change(self.tenants.get_mut(ix));
        self.note_request_limits(ix, &request_limits);
        self.update_throttle(ix);
        // A different cap is reported again.
        let same = self.cap_of(ix) == cap;
        self.tenants.get_mut(ix).notified_at_cap &= same;
        self.tenant_changed(ix);
        self.write_tenant(ix);
    }

    pub(crate) fn delete_tenant(&mut self, id: &TenantId, reason: Option<String>) -> Reply {
        let Some(ix) = self.tenants.find(id) else {
            return Reply::Refused(Refusal::UnknownTenant);
        };
        let living = self.tenants.get(ix).jobs.total();
        if living > 0 {
            return Reply::Refused(Refusal::TenantHasJobs { living });
        }
        let view = Box::new(self.tenant_view(ix));
        self.clear_noise_state(ix);
        self.forget_usage(ix);
        self.resume_all_shards(ix);
        self.clear_limits_of(id);
        self.revoke_keys_of(id);
        self.remove_pools_of(id);
        let tenant = self.tenants.get(ix);
        if tenant.file.is_some() || !tenant.classes.is_empty() || self.queues.any_owned_by(id) {
            // The tenant stays: the file, finished jobs or queues still refer to it.
            let before = Some(tenant.config().clone());
            let note =
                Change { at: self.wall(), what: "delete".into(), reason, before, after: None };
            self.reconfigure(ix, |tenant| {
                tenant.row.api = None;
                push_change(&mut tenant.row.changes, note);
            });
            if self.tenants.get(ix).file.is_none() {
                self.tenants.retire(ix);
            }
        } else {
            self.tenants.delete(ix);
            self.drop_request_limits(id);
            self.out.mutations.push(Mutation::Remove(RowKind::Tenant, (**id).into()));
        }
        self.out.mutations.push(Mutation::Remove(RowKind::TenantState, (**id).into()));
        Reply::Tenant { tenant: view, created: false }
    }

    fn resume_all_shards(&mut self, ix: TenantIx) {
        for (queue, _) in std::mem::take(&mut self.tenants.get_mut(ix).row.paused) {
            if let Some(queue) = self.queues.find(&queue) {
                self.set_shard_pause(queue, ix, None);
            }
        }
    }

    /// Sets or clears the pause of a shard.
    pub(super) fn set_shard_pause(&mut self, queue: QueueIx, ix: TenantIx, since: Option<Millis>) {
        let paused_by = &mut self.queues.get_mut(queue).paused_by;
        match since {
            Some(_) => paused_by.insert(ix),
            None => paused_by.remove(&ix),
        };
        if let Some(shard) = self.scheduler.shard(queue, ix) {
            self.shards.get_mut(shard).paused = since;
            self.scheduler.reconfigured(Reconfigured::Shard(shard, since.is_some()));
        }
    }

    /// Pauses or resumes one tenant's jobs in one queue.
    pub(crate) fn pause_shard(&mut self, id: &TenantId, queue: &QueueName, pause: bool) -> Reply {
        if let Err(reached) = self.check_tenant(Some(id)) {
            return Reply::Refused(reached.into());
        }
        let queue_ix = match self.queue_ix(queue, Some(id)) {
            Ok(ix) => ix,
            Err(refusal) => return Reply::Refused(refusal),
        };
        let now = self.wall();
        let ix = self.ensure_tenant(id);
        let paused = &mut self.tenants.get_mut(ix).row.paused;
        let was = paused.iter().any(|(name, _)| name == queue);
        match (pause, was) {
            (true, false) => paused.push((queue.clone(), now)),
            (false, true) => paused.retain(|(name, _)| name != queue),
            _ => {}
        }
        if pause != was {
            self.write_tenant(ix);
            let event = match pause {
                true => EventKind::QueuePaused { queue: queue.clone(), tenant: Some(id.clone()) },
                false => EventKind::QueueResumed { queue: queue.clone(), tenant: Some(id.clone()) },
            };
            self.emit(event);
        }
        self.set_shard_pause(queue_ix, ix, pause.then_some(now));
        Reply::Queue(Box::new(self.shard_view(queue_ix, ix)))
    }

    pub(crate) fn release_tenant(&mut self, id: &TenantId, reason: Option<String>) -> Reply {
        let Some(ix) = self.tenants.find(id) else {
            return Reply::Refused(Refusal::UnknownTenant);
        };
        if self.tenants.get(ix).throttled(self.wall()).is_none() {
            return Reply::Refused(Refusal::NotThrottled);
        }
        let note =
            Change { at: self.wall(), what: "release".into(), reason, before: None, after: None };
        let spared_until = later(self.wall(), self.config.noisy.throttle_ms);
        let row = &mut self.tenants.get_mut(ix).row;
        push_change(&mut row.changes, note);
        row.spared_until = Some(spared_until);
        self.end_throttle(ix, "manual");
        Reply::Tenant { tenant: Box::new(self.tenant_view(ix)), created: false }
    }

    /// Emits an event if a tenant's jobs wait because of its concurrency cap. It is sent once until
    /// none of its jobs are available or the cap changes.
    pub(crate) fn emit_tenant_at_cap(&mut self, ix: TenantIx) {
        if self.tenants.get(ix).notified_at_cap || !self.is_at_cap(ix) {
            return;
        }
        let tenant = self.tenants.get_mut(ix);
        tenant.notified_at_cap = true;
        let (id, current) = (tenant.id.clone(), tenant.jobs.count(State::Active));
        let maximum = self.cap_of(ix).map_or(current, u64::from);
        self.emit(EventKind::TenantLimitExceeded {
            tenant: id,
            limit: "max_concurrency",
            current,
            maximum,
            soft: false,
        });
    }

    /// Counts what a tenant did. Its counters are updated when the batch is sealed.
    pub(crate) fn tally(&mut self, ix: TenantIx, tally: Tally) {
        self.tenant_delta(ix).tally.add(tally);
        self.schedule_noise_check(ix);
    }

    /// A tenant's counts of the last minute, including the current batch.
    pub(crate) fn minute_of(&self, ix: TenantIx) -> Tally {
        self.sum_with_pending(ix, |counters| counters.minute.sum(self.wall()))
    }

    /// A tenant's counts of the last day, including the current batch.
    pub(crate) fn day_of(&self, ix: TenantIx) -> Tally {
        self.sum_with_pending(ix, |counters| counters.day(self.wall()))
    }

    fn sum_with_pending(&self, ix: TenantIx, sum: impl Fn(&Counters) -> Tally) -> Tally {
        let tenant = self.tenants.get(ix);
        let mut tally = tenant.counters.as_deref().map_or_else(Tally::default, &sum);
        if let Some(delta) = self.journal.pending_delta(tenant) {
            let mut counters = Counters::default();
            counters.add(delta.tally, delta.at);
            tally.add(sum(&counters));
        }
        tally
    }
}

fn push_change(changes: &mut Vec<Change>, note: Change) {
    if changes.len() == MOST_CHANGES {
        changes.remove(0);
    }
    changes.push(note);
}
