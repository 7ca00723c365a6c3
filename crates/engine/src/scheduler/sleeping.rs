//! Sleeping at a limit that is closed, until it may have opened.

use super::Scheduler;
use super::limits::{Bucket, Closed, First, LimitIx, Rank, Sleeper, Subscription};
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

impl Scheduler {
    /// Gates of a bucket have changed: they sleep under the rank of their first turn, or are awake.
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

    /// Gives the first turn behind the gates of a bucket its present rank, until that is not out of
    /// date.
    pub(super) fn rank_first_anew(&mut self, limit: LimitIx, bucket: Bucket, queue: QueueIx) {
        while let Some(first) = self.waitlist(limit, queue).first_in(Some(bucket)) {
            let First { turn, group: (lane, gate), .. } = first;
            let present = self.rank_of(turn, limit, lane);
            if present <= first.rank {
                break;
            }
            self.steps += 1;
            self.waitlist(limit, queue).set_rank(turn, gate, false, present);
        }
        self.resubscribe(limit, queue, bucket);
    }

    pub(super) fn set_timer(&mut self, limit: LimitIx, closed: &Closed) {
        if let Some(opens) = closed.opens {
            self.limits.look_at(limit, closed.bucket, opens.max(0) as u64);
        }
    }

    /// Whoever sleeps is woken in the key's order.
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

    /// Where fairness is off, sleepers are in one order, whosever they are.
    fn competitor(&self, tenant: TenantIx) -> TenantIx {
        if self.rules.fair { tenant } else { NOBODY }
    }
}

/// In place of a tenant, for what is nobody's.
pub(super) const NOBODY: TenantIx = TenantIx(u32::MAX);
