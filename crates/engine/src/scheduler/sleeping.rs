//! Sleeping at closed limits: waitlists, queues and groups enter and leave the limit's buckets.

use super::Scheduler;
use super::limits::{Bucket, Closed, FirstInLine, LimitIx, Rank, Sleeper, Subscription};
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

impl Scheduler {
    /// Updates how a bucket of a waitlist sleeps, after its gates changed: under the rank of its first
    /// turn, or not at all.
    pub(super) fn resubscribe(&mut self, limit: LimitIx, queue: QueueIx, bucket: Bucket) {
        let (old, new) = self.waitlist(limit, queue).resubscribe(bucket);
        if old == new {
            return;
        }
        let sleeper = Sleeper::Waitlist(queue);
        if let Some(old) = old {
            self.unsubscribe(limit, bucket, old.rank, old.tenant, sleeper);
        }
        if let Some(Subscription { rank, tenant, contested }) = new {
            let tenant = self.competitor(tenant);
            self.limits.limit_mut(limit).sleepers.insert(bucket, rank, tenant, sleeper, contested);
        }
    }

    /// Ranks the first turns of a bucket again, until the first rank is current.
    pub(super) fn rank_first_again(&mut self, limit: LimitIx, bucket: Bucket, queue: QueueIx) {
        while let Some(first) = self.waitlist(limit, queue).first_in(Some(bucket)) {
            let FirstInLine { turn, group: (lane, gate), .. } = first;
            let current_rank = self.rank_of(turn, limit, lane);
            if current_rank <= first.rank {
                break;
            }
            self.steps += 1;
            self.waitlist(limit, queue).set_rank(turn, gate, false, current_rank);
        }
        self.resubscribe(limit, queue, bucket);
    }

    pub(super) fn set_timer(&mut self, limit: LimitIx, closed: &Closed) {
        if let Some(opens) = closed.opens {
            self.limits.set_timer(limit, closed.bucket, opens.max(0) as u64);
        }
    }

    /// Puts a sleeper into a bucket. Sleepers are woken in the key's order.
    pub(super) fn subscribe(
        &mut self,
        limit: LimitIx,
        bucket: Bucket,
        rank: Rank,
        tenant: TenantIx,
        sleeper: Sleeper,
    ) {
        let tenant = self.competitor(tenant);
        self.limits.limit_mut(limit).sleepers.insert(bucket, rank, tenant, sleeper, false);
    }

    pub(super) fn unsubscribe(
        &mut self,
        limit: LimitIx,
        bucket: Bucket,
        rank: Rank,
        tenant: TenantIx,
        sleeper: Sleeper,
    ) {
        let tenant = self.competitor(tenant);
        self.limits.limit_mut(limit).sleepers.remove(bucket, rank, tenant, sleeper);
    }

    /// The tenant under which something sleeps. With fairness off, all sleepers share one order.
    fn competitor(&self, tenant: TenantIx) -> TenantIx {
        if self.rules.fair { tenant } else { NOBODY }
    }
}

/// Stands for no tenant.
pub(super) const NOBODY: TenantIx = TenantIx(u32::MAX);
