//! The bounds of a queue, and of each tenant's shard of it, in jobs and in bytes.

use rota_model::envelope::NewJob;
use rota_model::{QueueName, TenantId};

use super::Obstacle;
use super::batch::{BatchLoad, Load};
use super::drop_oldest::{Drops, Excess};
use crate::queue::QueueIx;
use crate::shard::ShardIx;
use crate::{Backpressure, Bounds, Engine, EventKind, Refusal};

/// A queue, or one tenant's shard of it.
#[derive(Clone, Copy)]
struct Bounded<'a> {
    queue: &'a QueueName,
    tenant: Option<&'a TenantId>,
}

enum BoundedIx {
    Queue(QueueIx),
    Shard(ShardIx),
}

/// A bound that a batch exceeds.
struct Overflow<'a> {
    bounded: Bounded<'a>,
    /// `None` for a shard that has never had a job.
    ix: Option<BoundedIx>,
    bounds: Bounds,
    /// The current number of jobs or bytes, and the bound.
    current: u64,
    bound: u64,
    in_bytes: bool,
    excess: Excess,
    /// The batch would fit if the queue were empty.
    fits_when_empty: bool,
}

impl Engine {
    /// Checks the bounds of all shards and queues that a batch adds to. Returns the jobs to be
    /// dropped where queues drop the oldest: first for the bounds of shards, then for those of
    /// whole queues.
    pub(super) fn check_queue_bounds(
        &mut self,
        load: &BatchLoad<'_>,
        jobs: &[NewJob],
    ) -> Result<Drops, Obstacle> {
        let mut drops = Drops::default();
        let shards = load
            .shards
            .iter()
            .map(|(&(queue, tenant), load)| (Bounded { queue, tenant: Some(tenant) }, load));
        let queues =
            load.queues.iter().map(|(queue, load)| (Bounded { queue, tenant: None }, load));
        for (bounded, load) in shards.chain(queues) {
            let Some(overflow) = self.overflow(bounded, load) else { continue };
            let (excess, added) = (overflow.excess, load.jobs);
            let drops_oldest =
                overflow.fits_when_empty && overflow.bounds.strategy == Backpressure::DropOldest;
            let enough = match overflow.ix {
                Some(BoundedIx::Queue(ix)) if drops_oldest => {
                    self.choose_from_queue(&mut drops, ix, excess, added)
                }
                Some(BoundedIx::Shard(ix)) if drops_oldest => {
                    self.choose_from_shard(&mut drops, ix, excess, added)
                }
                _ => false,
            };
            if !enough {
                return Err(self.refuse_overflow(&overflow, jobs));
            }
        }
        Ok(drops)
    }

    /// `None` when the jobs fit.
    fn overflow<'a>(&self, bounded: Bounded<'a>, added: &Load) -> Option<Overflow<'a>> {
        let ix = self.queues.find(bounded.queue)?;
        let bounds = self.queues.get(ix).row.settings.bounds?;
        let (ix, (depth, bytes), most, most_bytes) = match bounded.tenant {
            None => {
                let load = self.queues.get(ix).jobs.load();
                (Some(BoundedIx::Queue(ix)), load, bounds.max_depth, bounds.max_bytes)
            }
            Some(id) => {
                let shard =
                    self.tenants.find(id).and_then(|tenant| self.scheduler.shard(ix, tenant));
                let load = shard.map_or((0, 0), |shard| self.shards.get(shard).jobs.load());
                (
                    shard.map(BoundedIx::Shard),
                    load,
                    bounds.tenant_max_depth,
                    bounds.tenant_max_bytes,
                )
            }
        };
        let over = |current: u64, more: u64, most: u64| match most {
            0 => 0,
            most => (current + more).saturating_sub(most),
        };
        let excess = Excess {
            jobs: over(depth, added.jobs, most),
            bytes: over(bytes, added.bytes, most_bytes),
        };
        if excess.is_none() {
            return None;
        }
        let in_bytes = excess.jobs == 0;
        let (current, bound) = if in_bytes { (bytes, most_bytes) } else { (depth, most) };
        let fits_when_empty =
            over(0, added.jobs, most) == 0 && over(0, added.bytes, most_bytes) == 0;
        Some(Overflow { bounded, ix, bounds, current, bound, in_bytes, excess, fits_when_empty })
    }

    /// A batch that would fit into an empty queue may be sent again, or wait.
    fn refuse_overflow(&mut self, overflow: &Overflow<'_>, jobs: &[NewJob]) -> Obstacle {
        let (queue, in_bytes) = (overflow.bounded.queue, overflow.in_bytes);
        let drained = || self.ms_until_room(queue, overflow.excess.jobs, in_bytes);
        let retry_ms = overflow.fits_when_empty.then(drained);
        let refusal = Refusal::QueueFull {
            queue: queue.clone(),
            tenant: overflow.bounded.tenant.cloned(),
            depth: overflow.current,
            bound: overflow.bound,
            in_bytes,
            strategy: overflow.bounds.strategy,
            retry_ms,
        };
        match overflow.bounds.strategy {
            Backpressure::Block if overflow.fits_when_empty => Obstacle::Full(refusal),
            _ => Obstacle::Refused(self.count_rejected(refusal, jobs)),
        }
    }

    /// Counts a rejection and emits its event, if a queue was full.
    pub(crate) fn count_rejected(&mut self, refusal: Refusal, jobs: &[NewJob]) -> Refusal {
        if let Refusal::QueueFull { queue, tenant, depth, bound, .. } = &refusal {
            let is_rejected = |job: &&NewJob| {
                job.class.queue == *queue
                    && tenant.as_ref().is_none_or(|id| job.class.tenant == *id)
            };
            if let Some(job) = jobs.iter().find(is_rejected) {
                let asker = self.asker(Some(&job.class.tenant));
                let meter = self.meters.find(&job.class.tenant, queue);
                let meter =
                    meter.unwrap_or_else(|| self.meters.acquire(asker, &job.class.tenant, queue));
                self.meters.meter_mut(meter).rejected += 1;
                let (queue, depth, bound) = (queue.clone(), *depth, *bound);
                let class = job.class.clone().into();
                self.emit(EventKind::QueueRejected { queue, depth, bound, class });
            }
        }
        refusal
    }
}
