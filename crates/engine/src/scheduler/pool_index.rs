//! Pools by the queues that they serve.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use rota_model::{PoolName, QueueName};

/// Pools by queue. Queues are named without a tenant's namespace.
#[derive(Default)]
pub(super) struct PoolIndex(BTreeMap<QueueName, ServingPools>);

/// The pools that serve a queue.
#[derive(Default)]
struct ServingPools {
    of_operator: BTreeSet<PoolName>,
    of_tenants: BTreeSet<PoolName>,
}

impl PoolIndex {
    pub fn insert(&mut self, queues: &[QueueName], pool: &PoolName) {
        for queue in queues {
            self.0.entry(queue.clone()).or_default().with_owner_of(pool).insert(pool.clone());
        }
    }

    pub fn remove(&mut self, queues: &[QueueName], pool: &PoolName) {
        for queue in queues {
            let Some(serving) = self.0.get_mut(queue) else { continue };
            serving.with_owner_of(pool).remove(pool);
            if serving.of_operator.is_empty() && serving.of_tenants.is_empty() {
                self.0.remove(queue);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The operator's pools that serve a queue.
    pub fn of_operator(&self, queue: &str) -> impl Iterator<Item = &PoolName> + use<'_> {
        self.0.get(queue).into_iter().flat_map(|serving| &serving.of_operator)
    }

    /// All tenants' pools that serve a queue.
    pub fn of_tenants(&self, queue: &str) -> impl Iterator<Item = &PoolName> + use<'_> {
        self.0.get(queue).into_iter().flat_map(|serving| &serving.of_tenants)
    }

    /// One tenant's pools that serve a queue.
    pub fn of_tenant(
        &self,
        queue: &str,
        tenant: &str,
    ) -> impl Iterator<Item = &PoolName> + use<'_> {
        let prefix = format!("{tenant} ");
        let behind = (Bound::Excluded(&*prefix), Bound::Unbounded);
        let serving = self.0.get(queue);
        let pools = serving.map(|serving| serving.of_tenants.range::<str, _>(behind));
        pools.into_iter().flatten().take_while(move |name| name.starts_with(&prefix))
    }
}

impl ServingPools {
    fn with_owner_of(&mut self, pool: &PoolName) -> &mut BTreeSet<PoolName> {
        if pool.owner_name().is_some() { &mut self.of_tenants } else { &mut self.of_operator }
    }
}
