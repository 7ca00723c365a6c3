//! The dead letters of all tenants in all queues: how many jobs, with which errors, and which are due to
//! be pruned.
//!
//! The jobs themselves are in the store. Here is one entry for each tenant and queue that has any.

mod pruning;
mod shard;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use rota_model::mutation::{Mutation, RowKind};
use rota_model::{Cap, DeadShardId, Millis, QueueName, TenantId};

use crate::caps::{Asker, CapCounter, Capped};
pub use pruning::{DeadLetterLimits, PruneWork};
pub(crate) use shard::DeadShard;
use shard::DeadShardRow;
pub use shard::DeadShardView;

pub(crate) struct DeadLetters {
    all: BTreeMap<DeadShardId, DeadShard>,
    /// Ids below that of the last shard that are not in use.
    free: BTreeSet<DeadShardId>,
    by_tenant: BTreeMap<(TenantId, QueueName), DeadShardId>,
    by_queue: BTreeMap<QueueName, PruneOrders>,
    /// Types of errors with a counter, by tenant.
    error_types: CapCounter,
    /// Shards and counters that changed since they were written.
    changed: BTreeSet<DeadShardId>,
    changed_errors: BTreeSet<(DeadShardId, Option<Arc<str>>)>,
    /// When pruning is due next.
    pub next_prune: Millis,
    /// The queue that was pruned last.
    pruned_last: Option<QueueName>,
}

/// The shards of one queue, in the orders in which they may have to be pruned.
#[derive(Default)]
struct PruneOrders {
    /// By a lower bound on when their oldest job was discarded.
    by_oldest: BTreeSet<(Millis, DeadShardId)>,
    by_count: BTreeSet<(u64, DeadShardId)>,
}

impl DeadLetters {
    pub fn new(cap: Cap) -> Self {
        Self {
            all: BTreeMap::new(),
            free: BTreeSet::new(),
            by_tenant: BTreeMap::new(),
            by_queue: BTreeMap::new(),
            error_types: CapCounter::new(Capped::ErrorTypes, cap),
            changed: BTreeSet::new(),
            changed_errors: BTreeSet::new(),
            next_prune: Millis(0),
            pruned_last: None,
        }
    }

    /// Adds a job. Returns its shard, and whether it is counted among other types of errors because
    /// the tenant has as many as it may.
    pub fn add(
        &mut self,
        queue: &QueueName,
        tenant: &TenantId,
        error: &Arc<str>,
        at: Millis,
        asker: Asker<'_>,
    ) -> (DeadShardId, bool) {
        let id = match self.by_tenant.get(&(tenant.clone(), queue.clone())) {
            Some(id) => *id,
            None => {
                let id = self.free.pop_first().unwrap_or(DeadShardId(self.all.len() as u32));
                self.insert(id, DeadShard::new(queue.clone(), tenant.clone(), at));
                self.changed.insert(id);
                id
            }
        };
        let known = self.all[&id].errors.contains_key(error);
        let other = !known && self.error_types.check(asker).is_err();
        if !known && !other {
            self.error_types.add(Some(tenant));
        }
        self.change(id, |shard| {
            *shard.counter(error, other) += 1;
            shard.count += 1;
        });
        self.changed_errors.insert((id, (!other).then(|| error.clone())));
        (id, other)
    }

    /// Removes a job, which must have been added.
    pub fn remove(&mut self, id: DeadShardId, error: &Arc<str>, other: bool) {
        let Some(shard) = self.all.get(&id) else { return };
        let tenant = shard.tenant.clone();
        self.change(id, |shard| {
            *shard.counter(error, other) -= 1;
            shard.count -= 1;
        });
        self.changed_errors.insert((id, (!other).then(|| error.clone())));
        let shard = self.all.get_mut(&id).expect("the shard was just changed");
        if !other && shard.errors.get(error) == Some(&0) {
            shard.errors.remove(error);
            self.error_types.remove(Some(&tenant));
        }
        if shard.count == 0 {
            self.drop_shard(id);
            self.changed.insert(id);
        }
    }

    pub fn get(&self, id: DeadShardId) -> Option<&DeadShard> {
        self.all.get(&id)
    }

    /// Up to `most` shards after this one, of a tenant or of all.
    pub fn slice(
        &self,
        tenant: Option<&TenantId>,
        after: Option<(TenantId, QueueName)>,
        most: usize,
    ) -> Vec<DeadShardView> {
        let from = match (after, tenant) {
            (Some(after), _) => Bound::Excluded(after),
            (None, Some(tenant)) => Bound::Included((tenant.clone(), QueueName::first())),
            (None, None) => Bound::Unbounded,
        };
        let all = self.by_tenant.range((from, Bound::Unbounded));
        let own = all.take_while(|((owner, _), _)| tenant.is_none_or(|tenant| owner == tenant));
        own.take(most).map(|(_, id)| self.all[id].view(*id)).collect()
    }

    /// Writes what has changed: once per batch, however many jobs came and went.
    pub fn write_rows(&mut self, out: &mut Vec<Mutation>) {
        for id in std::mem::take(&mut self.changed) {
            out.push(match self.all.get(&id) {
                Some(shard) => put(RowKind::DeadShard, id.0.to_string(), &shard.row()),
                None => Mutation::Remove(RowKind::DeadShard, id.0.to_string().into()),
            });
        }
        for (id, error) in std::mem::take(&mut self.changed_errors) {
            let count = self.all.get(&id).map_or(0, |shard| shard.count_of(error.as_deref()));
            let name = match &error {
                Some(error) => format!("{}:{error}", id.0),
                None => id.0.to_string(),
            };
            out.push(match count {
                0 => Mutation::Remove(RowKind::DeadErrors, name.into()),
                count => put(RowKind::DeadErrors, name, &count),
            });
        }
    }

    /// Restores a shard. Its counters follow.
    pub fn restore_shard(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let id = DeadShardId(name.parse().map_err(|_| "its name is no number")?);
        let row: DeadShardRow = serde_json::from_slice(json).map_err(|e| e.to_string())?;
        let queue = QueueName::stored(&row.queue).map_err(|e| e.to_string())?;
        self.insert(id, DeadShard::new(queue, row.tenant, row.oldest));
        Ok(())
    }

    /// Restores a counter. Returns the tenant and queue, and the number of jobs.
    pub fn restore_errors(&mut self, name: &str, json: &[u8]) -> Result<(), String> {
        let (id, error) = match name.split_once(':') {
            Some((id, error)) => (id, Some(Arc::<str>::from(error))),
            None => (name, None),
        };
        let id = DeadShardId(id.parse().map_err(|_| "its name begins with no number")?);
        let count: u64 = serde_json::from_slice(json).map_err(|e| e.to_string())?;
        let Some(shard) = self.all.get(&id) else {
            return Err("its shard does not exist".to_owned());
        };
        if error.is_some() {
            let tenant = shard.tenant.clone();
            self.error_types.add(Some(&tenant));
        }
        self.change(id, |shard| {
            *shard.counter(&error.clone().unwrap_or_default(), error.is_none()) = count;
            shard.count += count;
        });
        Ok(())
    }

    /// After a restore: finds the unused ids.
    pub fn collect_free(&mut self) {
        let end = self.all.last_key_value().map_or(0, |(id, _)| id.0);
        let unused = (0..end).map(DeadShardId).filter(|id| !self.all.contains_key(id));
        self.free = unused.collect();
    }

    fn insert(&mut self, id: DeadShardId, shard: DeadShard) {
        self.by_tenant.insert((shard.tenant.clone(), shard.queue.clone()), id);
        let orders = self.by_queue.entry(shard.queue.clone()).or_default();
        orders.by_oldest.insert((shard.oldest, id));
        orders.by_count.insert((shard.count, id));
        self.all.insert(id, shard);
    }

    fn drop_shard(&mut self, id: DeadShardId) {
        let Some(shard) = self.all.remove(&id) else { return };
        for error in shard.errors.keys() {
            self.error_types.remove(Some(&shard.tenant));
            self.changed_errors.insert((id, Some(error.clone())));
        }
        if let Some(orders) = self.by_queue.get_mut(&shard.queue) {
            orders.by_oldest.remove(&(shard.oldest, id));
            orders.by_count.remove(&(shard.count, id));
            if orders.by_oldest.is_empty() {
                self.by_queue.remove(&shard.queue);
            }
        }
        self.by_tenant.remove(&(shard.tenant, shard.queue));
        self.free.insert(id);
        // Ids beyond the last shard are free anyway.
        let end = self.all.last_key_value().map_or(0, |(last, _)| last.0 + 1);
        drop(self.free.split_off(&DeadShardId(end)));
    }

    /// Changes a shard and keeps its place in the orders of its queue.
    fn change(&mut self, id: DeadShardId, change: impl FnOnce(&mut DeadShard)) {
        let Some(shard) = self.all.get_mut(&id) else { return };
        let (oldest, count) = (shard.oldest, shard.count);
        change(shard);
        if let Some(orders) = self.by_queue.get_mut(&shard.queue) {
            orders.by_oldest.remove(&(oldest, id));
            orders.by_oldest.insert((shard.oldest, id));
            orders.by_count.remove(&(count, id));
            orders.by_count.insert((shard.count, id));
        }
    }
}

fn put(kind: RowKind, name: String, row: &impl serde::Serialize) -> Mutation {
    let json = serde_json::to_vec(row).expect("rows are plain data");
    Mutation::Put(kind, name.into(), Bytes::from(json))
}
