//! Forgetting queues, shards and tenants that are no longer used.
//!
//! Queues and tenants are checked one after another, so the cost of each check does not depend on
//! their number.

use std::collections::VecDeque;

use rota_model::mutation::{Mutation, RowKind};

use crate::queue::QueueIx;
use crate::shard::ShardIx;
use crate::tenant::TenantIx;
use crate::{ConfigOrigin, Engine, QueueSettings};

/// Checks of each queue and tenant per `forget_idle_ms`.
const CHECKS_PER_PERIOD: u64 = 4;

#[derive(Default)]
pub(crate) struct Idle {
    /// By the time of the next check, in monotonic ms. Every queue and tenant is listed once.
    due: VecDeque<(u64, IdleCandidate)>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum IdleCandidate {
    Queue(QueueIx),
    Tenant(TenantIx),
}

impl Idle {
    pub fn next_check(&self) -> Option<u64> {
        self.due.front().map(|(at, _)| *at)
    }
}

impl Engine {
    /// Schedules the next check of a queue or tenant.
    pub(crate) fn check_idle_later(&mut self, candidate: IdleCandidate) {
        let check_at =
            self.now.mono.saturating_add((self.config.forget_idle_ms / CHECKS_PER_PERIOD).max(1));
        self.idle.due.push_back((check_at, candidate));
    }

    /// Checks one queue or tenant that is due; false if there is none.
    pub(crate) fn check_one_idle(&mut self) -> bool {
        let due = self.idle.due.front().filter(|(at, _)| *at <= self.now.mono);
        let Some(&(_, candidate)) = due else { return false };
        self.idle.due.pop_front();
        let gone = match candidate {
            IdleCandidate::Queue(ix) => self.forget_queue_if_idle(ix),
            IdleCandidate::Tenant(ix) => self.forget_tenant_if_idle(ix),
        };
        if !gone {
            self.check_idle_later(candidate);
        }
        true
    }

    fn is_long_ago(&self, since: u64) -> bool {
        self.now.mono.saturating_sub(since) >= self.config.forget_idle_ms
    }

    fn forget_queue_if_idle(&mut self, ix: QueueIx) -> bool {
        let now = self.now.mono;
        let queue = self.queues.get_mut(ix);
        let row = &queue.row;
        let has_jobs = queue.shards > 0 || queue.jobs.total() > 0 || queue.done.total() > 0;
        let set = row.requested || row.paused.is_some() || row.settings != QueueSettings::default();
        let figures = queue.stats.is_listed() || self.journal.minutes.has_counts_of(ix);
        let wanted =
            set || figures || !queue.paused_by.is_empty() || !queue.waiting_enqueues.is_empty();
        if has_jobs || wanted || !self.scheduler.is_idle_queue(ix) {
            queue.used_at = now;
            return false;
        }
        let (exists, used_at) = (queue.exists, queue.used_at);
        if exists && !self.is_long_ago(used_at) {
            return false;
        }
        let name = self.queues.get(ix).name.clone();
        if exists {
            self.out.mutations.push(Mutation::Remove(RowKind::Queue, (*name).into()));
        }
        self.forget_dispatches(ix);
        self.journal.minutes.forget(ix);
        self.room_checks.remove(ix);
        self.scheduler.remove_queue(ix);
        self.queues.remove(ix);
        self.meters.queue_gone(&name);
        true
    }

    fn forget_tenant_if_idle(&mut self, ix: TenantIx) -> bool {
        for shard in self.scheduler.shards_of(ix).to_vec() {
            self.forget_shard_if_idle(shard);
        }
        let (now, wall) = (self.now.mono, self.wall());
        let exists = self.tenants.is_live(ix);
        let tenant = self.tenants.get_mut(ix);
        let row = &tenant.row;
        let set = tenant.origin() != ConfigOrigin::Default || !row.paused.is_empty();
        let watched = row.throttle.is_some() || row.spared_until.is_some_and(|until| until > wall);
        let figures =
            tenant.counters.as_ref().is_some_and(|all| all.day(wall) != Default::default());
        let has = !tenant.classes.is_empty()
            || self.queues.any_owned_by(&tenant.id)
            || self.scheduler.pools().any_owned_by(&tenant.id)
            || self.limit_owners.any_of(&tenant.id);
        let minute = tenant.counters.as_ref().is_some_and(|all| !all.minute.is_empty());
        let pending =
            tenant.delta_slot > 0 || tenant.noise_check_due || tenant.usage_queued || minute;
        let needed = exists && (set || watched || figures) || has || pending;
        if needed || !self.scheduler.is_idle_tenant(ix) {
            tenant.used_at = now;
            return false;
        }
        let (used_at, id) = (tenant.used_at, tenant.id.clone());
        if exists && !self.is_long_ago(used_at) {
            return false;
        }
        self.clear_noise_state(ix);
        if exists {
            for kind in [RowKind::Tenant, RowKind::TenantState] {
                self.out.mutations.push(Mutation::Remove(kind, (*id).into()));
            }
        }
        self.scheduler.remove_tenant(ix);
        self.tenants.remove(ix);
        true
    }

    /// Forgets a shard that has no classes, no pause and no tag.
    fn forget_shard_if_idle(&mut self, ix: ShardIx) {
        let now = self.now.mono;
        let shard = self.shards.get_mut(ix);
        if shard.classes > 0 || shard.paused.is_some() || !self.scheduler.is_idle_shard(ix) {
            shard.used_at = now;
            return;
        }
        let (used_at, queue, meter) = (shard.used_at, shard.queue, shard.meter);
        if !self.is_long_ago(used_at) {
            return;
        }
        let queue = self.queues.get_mut(queue);
        queue.shards -= 1;
        let keep_label = queue.exists && queue.row.settings != QueueSettings::default();
        self.meters.release(meter, keep_label);
        self.scheduler.remove_shard(ix);
        self.shards.remove(ix);
    }
}
