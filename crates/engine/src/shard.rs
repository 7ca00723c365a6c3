//! The table of shards; a shard is one tenant's part of one queue.

use rota_model::Millis;
use rota_model::mutation::Counts;

use crate::job_counts::JobCounts;
use crate::meters::MeterIx;
use crate::queue::QueueIx;
use crate::slab::Slab;
use crate::tenant::TenantIx;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ShardIx(pub u32);

#[derive(Debug)]
pub(crate) struct Shard {
    pub queue: QueueIx,
    pub tenant: TenantIx,
    /// The meter that counts its jobs.
    pub meter: MeterIx,
    /// Number of its classes.
    pub classes: u32,
    /// When it was last found in use, in monotonic ms.
    pub used_at: u64,
    pub paused: Option<Millis>,
    /// When a worker last asked for this tenant's jobs only, in monotonic ms.
    pub asked_at: Option<u64>,
    pub jobs: JobCounts,
    /// Finished jobs that are kept.
    pub done: Counts,
}

/// Shards by index. The scheduler maps queue and tenant to an index.
#[derive(Default)]
pub(crate) struct Shards(Slab<Shard>);

impl Shards {
    pub fn add(
        &mut self,
        queue: QueueIx,
        tenant: TenantIx,
        meter: MeterIx,
        used_at: u64,
    ) -> ShardIx {
        ShardIx(self.0.add(Shard {
            queue,
            tenant,
            meter,
            classes: 0,
            used_at,
            paused: None,
            asked_at: None,
            jobs: JobCounts::default(),
            done: Counts::default(),
        }))
    }

    pub fn remove(&mut self, ix: ShardIx) {
        self.0.remove(ix.0);
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Shard> {
        self.0.iter_mut()
    }

    pub fn get(&self, ix: ShardIx) -> &Shard {
        self.0.get(ix.0)
    }

    pub fn get_mut(&mut self, ix: ShardIx) -> &mut Shard {
        self.0.get_mut(ix.0)
    }
}
