//! One tenant's part of one queue.

use ahash::RandomState;
use rota_model::Millis;
use rota_model::mutation::Counts;

use crate::meters::MeterIx;
use crate::population::Population;
use crate::queue::QueueIx;
use crate::tenant::TenantIx;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ShardIx(pub u32);

#[derive(Debug)]
pub(crate) struct Shard {
    pub queue: QueueIx,
    pub tenant: TenantIx,
    /// Where its jobs are counted for those who watch from outside.
    pub meter: MeterIx,
    pub paused: Option<Millis>,
    /// When a worker last asked for this tenant's jobs only, in monotonic time.
    pub asked_at: Option<u64>,
    pub jobs: Population,
    /// Finished jobs that are kept.
    pub done: Counts,
}

pub(crate) struct Shards {
    all: Vec<Shard>,
    by_owner: std::collections::HashMap<(QueueIx, TenantIx), ShardIx, RandomState>,
}

impl Shards {
    pub fn new(hasher: RandomState) -> Self {
        Self { all: Vec::new(), by_owner: std::collections::HashMap::with_hasher(hasher) }
    }

    pub fn find(&self, queue: QueueIx, tenant: TenantIx) -> Option<ShardIx> {
        self.by_owner.get(&(queue, tenant)).copied()
    }

    /// The shard, and whether it is new.
    pub fn get_or_make(
        &mut self,
        queue: QueueIx,
        tenant: TenantIx,
        meter: impl FnOnce() -> MeterIx,
    ) -> (ShardIx, bool) {
        if let Some(ix) = self.find(queue, tenant) {
            return (ix, false);
        }
        let ix = ShardIx(self.all.len() as u32);
        self.all.push(Shard {
            queue,
            tenant,
            meter: meter(),
            paused: None,
            asked_at: None,
            jobs: Population::default(),
            done: Counts::default(),
        });
        self.by_owner.insert((queue, tenant), ix);
        (ix, true)
    }

    pub fn get(&self, ix: ShardIx) -> &Shard {
        &self.all[ix.0 as usize]
    }

    pub fn get_mut(&mut self, ix: ShardIx) -> &mut Shard {
        &mut self.all[ix.0 as usize]
    }
}
