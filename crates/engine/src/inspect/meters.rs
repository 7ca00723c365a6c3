//! Reading metrics in slices, so that a scrape does not hold up commands.

use std::sync::Arc;

use rota_model::{Ending, JobType, TenantId};

use super::tenants::fraction;
use crate::caps::Asker;
use crate::meters::Label;
use crate::queue::{Queue, QueueIx};
use crate::{Engine, Meter, QueueSettings};

/// Metrics of a whole queue.
#[derive(Debug, Clone)]
pub struct QueueMeter {
    /// Its metric label; `None` if it has none of its own.
    pub label: Option<Arc<str>>,
    pub pressure: Option<f64>,
    pub bounded: bool,
    /// Its fraction of all dispatches in the last minute.
    pub ratio: f64,
    /// Times that it was starved, since the process began.
    pub starved: u64,
}

/// A tenant with a metric label of its own, or all others together.
#[derive(Debug, Clone)]
pub struct LabelView {
    pub tenant: Option<TenantId>,
    /// Its fraction of the dispatches on shared workers in the last minute.
    pub share: f64,
    /// Its stored bytes; of all tenants, for the others.
    pub stored: u64,
}

impl Engine {
    /// Up to `most` queues beginning at index `from`. Fewer means the end.
    #[must_use]
    pub fn queue_meters(&self, from: usize, most: usize) -> Vec<QueueMeter> {
        let (now, all) = (self.wall(), self.dispatched_in_minute());
        let meter = |queue: &Queue| {
            let dispatched = queue.stats.dispatches.sum(now).jobs();
            QueueMeter {
                label: self.meters.queue_label(&queue.name),
                pressure: queue.pressure(),
                bounded: queue.row.settings.bounds.is_some(),
                ratio: fraction(dispatched, all),
                starved: queue.starved,
            }
        };
        self.queues.iter().filter(|queue| queue.exists).skip(from).take(most).map(meter).collect()
    }

    /// The meters in use among `most` indexes beginning at `from`, and the index to continue from,
    /// if there are more.
    #[must_use]
    pub fn meters(&self, from: usize, most: usize) -> (Vec<Meter>, Option<usize>) {
        let next = from.saturating_add(most);
        let slice = self.meters.slice(from, most).cloned().collect();
        (slice, (next < self.meters.len()).then_some(next))
    }

    /// Jobs that entered the dead letters of up to `most` queues, beginning at index `from`, by the
    /// queue's label and the job's type.
    #[must_use]
    pub fn buried(
        &self,
        from: usize,
        most: usize,
    ) -> Vec<(Option<Arc<str>>, Option<JobType>, u64)> {
        self.meters.buried(from, most)
    }

    /// Up to `most` labels beginning at index `from`. Fewer means the end.
    #[must_use]
    pub fn labels(&self, from: usize, most: usize) -> Vec<LabelView> {
        let now = self.wall();
        let all = self.meters.starts(now);
        let view = |label: &Label| LabelView {
            tenant: label.tenant.clone(),
            share: fraction(label.starts(now), all),
            stored: match &label.tenant {
                Some(tenant) => self.stored_bytes(tenant),
                None => self.all_stored_bytes(),
            },
        };
        self.meters.labels(from, most).map(view).collect()
    }

    /// Gives a label to a queue that an operator configured before it had jobs. With queues per
    /// tenant, tenants configure their own queues, so this does not apply.
    pub(crate) fn label_queue(&mut self, ix: QueueIx) {
        let queue = self.queues.get(ix);
        let configured = queue.row.settings != QueueSettings::default();
        if queue.shards == 0 && configured && !self.config.queues_per_tenant {
            self.meters.give_queue_label(&queue.name, Asker::OPERATOR);
        }
    }

    /// After a restart: assigns all labels again, because jobs were loaded before the queue
    /// settings that decide about labels.
    pub(crate) fn label_loaded_queues(&mut self) {
        self.meters.forget_queues();
        let configured = |queue: &&Queue| queue.row.settings != QueueSettings::default();
        if !self.config.queues_per_tenant {
            for queue in self.queues.iter().filter(configured) {
                self.meters.give_queue_label(&queue.name, Asker::OPERATOR);
            }
        }
        for shard in self.shards.iter_mut() {
            let tenant = self.tenants.get(shard.tenant);
            let queue = &self.queues.get(shard.queue).name;
            shard.meter = self.meters.acquire(tenant.asker(), &tenant.id, queue);
            let meter = self.meters.meter_mut(shard.meter);
            meter.jobs.add(&shard.jobs);
            meter.dead += shard.done.get(Ending::DeadLetter);
        }
    }

    /// After a restart: restores the dispatches of the last minute, which are stored by tenant
    /// only.
    pub(crate) fn restore_last_minute(&mut self) {
        let mut recent = Vec::new();
        for (ix, tenant) in self.tenants.iter() {
            let Some(counters) = &tenant.counters else { continue };
            if !counters.minute.is_empty() {
                recent.push(ix);
            }
            for (slot, tally) in
                counters.minute.slots().filter(|(_, tally)| tally.shared_starts() != 0)
            {
                self.meters.add_starts(tenant.asker(), &tenant.id, slot, tally.shared_starts());
            }
        }
        recent.into_iter().for_each(|ix| self.schedule_noise_check(ix));
    }
}
