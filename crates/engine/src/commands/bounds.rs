//! The bounds of queues, and of each tenant's part of them.

use rota_model::envelope::NewJob;
use rota_model::{QueueName, TenantId};

use super::admit::{Load, Obstacle, Share};
use super::drop_oldest::{Drops, Excess};
use crate::queue::QueueIx;
use crate::shard::ShardIx;
use crate::{Backpressure, Bounds, Engine, EventKind, Refusal};

/// A queue, or one tenant's part of it.
#[derive(Clone, Copy)]
struct Part<'a> {
    queue: &'a QueueName,
    tenant: Option<&'a TenantId>,
}

enum Place {
    Queue(QueueIx),
    Shard(ShardIx),
}

struct Full<'a> {
    part: Part<'a>,
    /// A part that has never had a job is nowhere yet.
    place: Option<Place>,
    bounds: Bounds,
    /// What there is of what is bounded, and the bound.
    is: u64,
    bound: u64,
    in_bytes: bool,
    excess: Excess,
    /// An empty queue would have room for it.
    fits: bool,
}

impl Engine {
    /// What must go before these jobs come in, where their queues drop the oldest: first of a
    /// tenant's part what its own bound asks for, then of the whole queue what is still too much.
    pub(super) fn check_bounds(
        &mut self,
        load: &Load<'_>,
        jobs: &[NewJob],
    ) -> Result<Drops, Obstacle> {
        let mut drops = Drops::default();
        let parts = load.parts.iter().map(|(&(queue, tenant), share)| {
            let part = Part { queue, tenant: Some(tenant) };
            (part, share)
        });
        let queues = load.queues.iter().map(|(queue, share)| (Part { queue, tenant: None }, share));
        for (part, share) in parts.chain(queues) {
            let Some(full) = self.overflow(part, share) else { continue };
            let (excess, brought) = (full.excess, share.jobs);
            let makes_room = full.fits && full.bounds.strategy == Backpressure::DropOldest;
            let enough = match full.place {
                Some(Place::Queue(ix)) if makes_room => {
                    self.choose_of_queue(&mut drops, ix, excess, brought)
                }
                Some(Place::Shard(ix)) if makes_room => {
                    self.choose_of_shard(&mut drops, ix, excess, brought)
                }
                _ => false,
            };
            if !enough {
                return Err(self.refuse(&full, jobs));
            }
        }
        Ok(drops)
    }

    /// By how much jobs would be too many for a queue or a part of it.
    fn overflow<'a>(&self, part: Part<'a>, share: &Share) -> Option<Full<'a>> {
        let ix = self.queues.find(part.queue)?;
        let bounds = self.queues.get(ix).row.settings.bounds?;
        let (place, (depth, bytes), most, most_bytes) = match part.tenant {
            None => {
                let load = self.queues.get(ix).jobs.load();
                (Some(Place::Queue(ix)), load, bounds.max_depth, bounds.max_bytes)
            }
            Some(id) => {
                let shard =
                    self.tenants.find(id).and_then(|tenant| self.scheduler.shard(ix, tenant));
                let load = shard.map_or((0, 0), |shard| self.shards.get(shard).jobs.load());
                (shard.map(Place::Shard), load, bounds.tenant_max_depth, bounds.tenant_max_bytes)
            }
        };
        let over = |is: u64, more: u64, most: u64| match most {
            0 => 0,
            most => (is + more).saturating_sub(most),
        };
        let excess = Excess {
            jobs: over(depth, share.jobs, most),
            bytes: over(bytes, share.bytes, most_bytes),
        };
        if excess.is_none() {
            return None;
        }
        let in_bytes = excess.jobs == 0;
        let (is, bound) = if in_bytes { (bytes, most_bytes) } else { (depth, most) };
        let fits = over(0, share.jobs, most) == 0 && over(0, share.bytes, most_bytes) == 0;
        Some(Full { part, place, bounds, is, bound, in_bytes, excess, fits })
    }

    /// For now, where an empty queue would have room.
    fn refuse(&mut self, full: &Full<'_>, jobs: &[NewJob]) -> Obstacle {
        let (queue, in_bytes) = (full.part.queue, full.in_bytes);
        let retry_ms = full.fits.then(|| self.until_drained(queue, full.excess.jobs, in_bytes));
        let refusal = Refusal::QueueFull {
            queue: queue.clone(),
            tenant: full.part.tenant.cloned(),
            depth: full.is,
            bound: full.bound,
            in_bytes,
            strategy: full.bounds.strategy,
            retry_ms,
        };
        match full.bounds.strategy {
            Backpressure::Block if full.fits => Obstacle::Wait(refusal),
            _ => Obstacle::No(self.reject(refusal, jobs)),
        }
    }

    /// Says that a queue had no room, if that is what kept the jobs out.
    pub(super) fn reject(&mut self, refusal: Refusal, jobs: &[NewJob]) -> Refusal {
        if let Refusal::QueueFull { queue, tenant, depth, bound, .. } = &refusal {
            let kept_out = |job: &&NewJob| {
                job.class.queue == *queue
                    && tenant.as_ref().is_none_or(|id| job.class.tenant == *id)
            };
            if let Some(job) = jobs.iter().find(kept_out) {
                let asker = self.asker(Some(&job.class.tenant));
                let known = self.meters.find(&job.class.tenant, queue);
                let meter =
                    known.unwrap_or_else(|| self.meters.of(asker, &job.class.tenant, queue));
                self.meters.at(meter).rejected += 1;
                let (queue, depth, bound) = (queue.clone(), *depth, *bound);
                let class = job.class.clone().into();
                self.emit(EventKind::QueueRejected { queue, depth, bound, class });
            }
        }
        refusal
    }
}
