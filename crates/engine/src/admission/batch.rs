//! The jobs and bytes that a batch of new jobs adds, by tenant, by queue and by shard.

use std::collections::BTreeMap;

use rota_model::envelope::NewJob;
use rota_model::{Millis, QueueName, TenantId};

use crate::scheduler::Size;

#[derive(Default)]
pub(super) struct BatchLoad<'a> {
    pub tenants: BTreeMap<&'a TenantId, Load>,
    pub queues: BTreeMap<&'a QueueName, Load>,
    pub shards: BTreeMap<(&'a QueueName, &'a TenantId), Load>,
}

#[derive(Default, Clone, Copy)]
pub(super) struct Load {
    pub jobs: u64,
    /// Jobs with a start time in the future; they are included in `jobs`.
    pub scheduled: u64,
    /// Bytes that wait, rounded as lanes keep them.
    pub bytes: u64,
    /// Bytes to be stored, exactly.
    pub stored: u64,
    /// Bytes of the largest job.
    pub largest: u64,
}

impl<'a> BatchLoad<'a> {
    pub fn of(jobs: &'a [NewJob], now: Millis) -> Self {
        let mut batch = Self::default();
        for job in jobs {
            let scheduled = !job.pending && job.start_at.is_some_and(|at| at > now);
            let load = Load {
                jobs: 1,
                scheduled: u64::from(scheduled),
                bytes: Size::of(job.body.len() as u64).bytes(),
                stored: job.body.len() as u64,
                largest: job.body.len() as u64,
            };
            let (queue, tenant) = (&job.class.queue, &job.class.tenant);
            batch.tenants.entry(tenant).or_default().add(load);
            batch.queues.entry(queue).or_default().add(load);
            batch.shards.entry((queue, tenant)).or_default().add(load);
        }
        batch
    }
}

impl Load {
    fn add(&mut self, other: Self) {
        self.jobs += other.jobs;
        self.scheduled += other.scheduled;
        self.bytes += other.bytes;
        self.stored += other.stored;
        self.largest = self.largest.max(other.largest);
    }
}
