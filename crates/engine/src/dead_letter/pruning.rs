//! Which dead letter to prune next. Each has a counter and a lower bound on its oldest job, so nothing is
//! searched.

use std::ops::Bound;

use rota_model::{DeadShardId, Millis, PruningPolicy, QueueName, TenantId};

use super::{DeadLetters, PruneOrders};

/// How long the jobs of a queue's dead letter are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadLetterLimits {
    pub max_age_ms: u64,
    /// Of each tenant.
    pub max_count: u64,
    pub pruning: PruningPolicy,
}

impl DeadLetterLimits {
    /// Jobs that were discarded at this time or before are too old.
    #[must_use]
    pub fn expired_at(&self, now: Millis) -> Millis {
        now.saturating_sub_ms(i64::try_from(self.max_age_ms).unwrap_or(i64::MAX))
    }
}

/// A dead letter with jobs that may have to be pruned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneWork {
    pub shard: DeadShardId,
    pub queue: QueueName,
    pub tenant: TenantId,
    pub limits: DeadLetterLimits,
    /// Jobs discarded at this time or before are too old.
    pub expired_at: Millis,
    /// Jobs above `max_count`.
    pub excess: u64,
}

impl DeadLetters {
    /// The next dead letter to prune. Queues take turns.
    pub fn next_to_prune(
        &self,
        now: Millis,
        limits: impl Fn(&QueueName) -> DeadLetterLimits,
    ) -> Option<PruneWork> {
        let behind = match &self.pruned_last {
            Some(queue) => Bound::Excluded(queue.clone()),
            None => Bound::Unbounded,
        };
        let rest = self.by_queue.range((behind, Bound::Unbounded));
        let mut all = rest.chain(self.by_queue.iter());
        all.find_map(|(queue, orders)| {
            let limits = limits(queue);
            let shard = orders.first_to_prune(now, limits)?;
            let found = self.all.get(&shard)?;
            Some(PruneWork {
                shard,
                queue: queue.clone(),
                tenant: found.tenant.clone(),
                limits,
                expired_at: limits.expired_at(now),
                excess: found.count.saturating_sub(limits.max_count),
            })
        })
    }

    /// A part of a shard's jobs was pruned. `oldest` is the time of the oldest that is left, as far as
    /// the store knew.
    pub fn pruned(&mut self, id: DeadShardId, oldest: Option<Millis>) {
        let Some(shard) = self.all.get(&id) else { return };
        self.pruned_last = Some(shard.queue.clone());
        let Some(oldest) = oldest.filter(|oldest| *oldest > shard.oldest) else { return };
        self.change(id, |shard| shard.oldest = oldest);
        self.changed.insert(id);
    }
}

impl PruneOrders {
    fn first_to_prune(&self, now: Millis, limits: DeadLetterLimits) -> Option<DeadShardId> {
        let expired_at = limits.expired_at(now);
        let oldest = self.by_oldest.first().filter(|(oldest, _)| *oldest <= expired_at);
        let largest = self.by_count.last().filter(|(count, _)| *count > limits.max_count);
        oldest.map(|(_, id)| *id).or(largest.map(|(_, id)| *id))
    }
}
