//! Forgetting idle queues, shards and tenants: their indexes are reused, so no reference to them may
//! remain.

use super::Scheduler;
use super::queue::Queue;
use super::rotation_rules::RotationKey;
use crate::queue::QueueIx;
use crate::shard::ShardIx;
use crate::tenant::TenantIx;

impl Scheduler {
    /// Whether a queue has no jobs, no limit and no waiting fetches.
    pub fn is_idle_queue(&self, ix: QueueIx) -> bool {
        let queue = self.queue(ix);
        let empty = queue.available == 0 && queue.active == 0 && queue.turns.is_empty();
        empty && queue.gate.is_none() && queue.asleep.is_none() && self.fetches.count_for(ix) == 0
    }

    /// Whether a tenant has no waiting jobs in a queue and no tag there that still counts.
    pub fn is_idle_shard(&self, ix: ShardIx) -> bool {
        let shard = &self.shards[ix.0 as usize];
        let mut members = self.queue(shard.queue).members.iter();
        shard.turns.is_empty()
            && members
                .all(|member| self.accounts.standings_of(member.account, shard.tenant).is_empty())
    }

    /// Whether a tenant has no shards, no active jobs and no tag that still counts.
    pub fn is_idle_tenant(&self, ix: TenantIx) -> bool {
        let tenant = self.tenant(ix);
        let idle = tenant.shards.is_empty() && tenant.active == 0 && tenant.parked.is_empty();
        idle && !self.accounts.has_standing(ix)
    }

    /// Forgets a queue. Rotations of pools continue without it; sets that name it are forgotten.
    pub fn remove_queue(&mut self, ix: QueueIx) {
        for rotation in self.queue(ix).rotates_in.clone() {
            match self.rotations.key(rotation).clone() {
                RotationKey::Pool(..) => self.leave_rotation(rotation, ix),
                set => self.forget_set(&set),
            }
        }
        let accounts: Vec<_> = self.queue(ix).members.iter().map(|member| member.account).collect();
        let (queue_account, shared) = accounts.split_first().expect("a queue has an account");
        shared.iter().for_each(|account| self.remove_member(*account, ix));
        self.accounts.close(*queue_account);
        self.to_serve.remove(ix);
        self.to_serve_tenant.retain(|(queue, _)| *queue != ix);
        *self.queue_mut(ix) = Queue::default();
    }

    pub fn remove_shard(&mut self, ix: ShardIx) {
        let shard = &self.shards[ix.0 as usize];
        let (queue, tenant) = (shard.queue, shard.tenant);
        self.shard_of.remove(&(queue, tenant));
        self.tenants[tenant.0 as usize].shards.retain(|shard| *shard != ix);
    }

    pub fn remove_tenant(&mut self, ix: TenantIx) {
        for account in self.rotations.remembered_accounts.values_mut() {
            let tags = &mut account.tags;
            let levels = tags.range((ix, i32::MIN)..=(ix, i32::MAX)).map(|(key, _)| *key);
            for key in levels.collect::<Vec<_>>() {
                tags.remove(&key);
            }
        }
        self.tenants[ix.0 as usize].shards = Vec::new();
    }

    /// Forgets a tenant's tag at a key, once the tenant has no classes that use the key.
    pub fn forget_at_key(&mut self, limit: super::limits::LimitIx, tenant: TenantIx) {
        self.limits.limit_mut(limit).order.forget(tenant);
    }
}
