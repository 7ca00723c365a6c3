//! Figures for those who watch from outside, a slice at a time: all of them at once would keep
//! everyone waiting.

use std::collections::BTreeMap;
use std::sync::Arc;

use rota_model::TenantId;

use super::tenants::part;
use crate::meters::Label;
use crate::queue::{Queue, QueueIx};
use crate::{Engine, Meter, QueueSettings};

/// What is known of a queue as a whole.
#[derive(Debug, Clone)]
pub struct QueueMeter {
    /// Its name, or `None` where it has no label of its own.
    pub label: Option<Arc<str>>,
    pub pressure: Option<f64>,
    pub bounded: bool,
    /// Its part of all dispatches in the last minute.
    pub ratio: f64,
    /// Since the process began.
    pub starved: u64,
}

/// A tenant with a label of its own, or all that have none.
#[derive(Debug, Clone)]
pub struct LabelView {
    pub tenant: Option<TenantId>,
    /// Its part of what was handed out in the last minute.
    pub share: f64,
}

impl Engine {
    /// So many queues from this place on, in the order in which they came up. Fewer are the last.
    #[must_use]
    pub fn queue_meters(&self, from: usize, most: usize) -> Vec<QueueMeter> {
        let (left, all) = (self.left_of_minute(), self.dispatched_lately());
        let meter = |queue: &Queue| {
            let stats = &queue.stats;
            let lately = stats.minute.dispatched + stats.last.dispatched * left / 60_000;
            QueueMeter {
                label: self.meters.queue_label(&queue.name),
                pressure: queue.pressure(),
                bounded: queue.row.settings.bounds.is_some(),
                ratio: part(lately, all),
                starved: queue.starved,
            }
        };
        self.queues.iter().skip(from).take(most).map(meter).collect()
    }

    /// So many meters from this place on, without those at which nothing was ever counted; and the
    /// place to go on from, if there are more.
    #[must_use]
    pub fn meters(&self, from: usize, most: usize) -> (Vec<Meter>, Option<usize>) {
        let next = from.saturating_add(most);
        let slice = self.meters.slice(from, most).cloned().collect();
        (slice, (next < self.meters.len()).then_some(next))
    }

    /// So many labels from this place on, by their numbers. Fewer are the last.
    #[must_use]
    pub fn labels(&self, from: usize, most: usize) -> Vec<LabelView> {
        let now = self.wall();
        let all = self.meters.lately(now);
        let view = |label: &Label| LabelView {
            tenant: label.tenant.clone(),
            share: part(label.lately.of(now), all),
        };
        self.meters.labels(from, most).map(view).collect()
    }

    /// Workers by what they are doing.
    #[must_use]
    pub fn workers_by_state(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for worker in self.workers.iter() {
            *counts.entry(worker.state().as_str()).or_default() += 1;
        }
        counts
    }

    /// A queue that an operator has configured before it has jobs has a label before others. In
    /// namespaces, tenants configure their queues themselves.
    pub(crate) fn label_queue(&mut self, ix: QueueIx) {
        let queue = self.queues.get(ix);
        let configured = queue.row.settings != QueueSettings::default();
        if queue.shards.is_empty() && configured && !self.config.queues_per_tenant {
            self.meters.give_queue_label(&queue.name, true);
        }
    }

    /// The same for a queue that was just loaded, with its classes and without its jobs.
    pub(crate) fn label_loaded_queue(&mut self, ix: QueueIx) {
        let shards = std::mem::take(&mut self.queues.get_mut(ix).shards);
        self.label_queue(ix);
        let name = self.queues.get(ix).name.clone();
        for &shard in &shards {
            let tenant = &self.tenants.get(self.shards.get(shard).tenant).id;
            self.shards.get_mut(shard).meter = self.meters.of(tenant, &name);
        }
        self.queues.get_mut(ix).shards = shards;
    }

    /// After a start: what tenants were given in the last minute is known by tenant alone.
    pub(crate) fn bring_shares_back(&mut self) {
        let now = self.wall();
        for (_, tenant) in self.tenants.iter() {
            let starts = tenant.counters.as_ref().map(|counters| counters.starts());
            if let Some(starts) = starts.filter(|starts| starts.of(now) > 0) {
                self.meters.add_lately(&tenant.id, starts);
            }
        }
    }
}
