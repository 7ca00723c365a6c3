//! Metrics by tenant and queue, counted as events happen, so that reading them costs the same
//! however many tenants there are.

mod last_minute;
mod meter;
mod recent;
mod times;

use std::collections::BTreeMap;
use std::sync::Arc;

use rota_model::{Cap, JobType, Millis, PoolName, QueueName, TenantId};

use crate::caps::{Asker, CapCounter, Capped};
pub(crate) use last_minute::{LastMinute, SLOT_MS, SLOTS, slot_of};
pub use meter::Meter;
pub(crate) use recent::{Recent, Sum};
pub use times::Times;

/// Index of a tenant's metric label. The first is shared by all tenants without a label of their
/// own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelIx(pub u32);

impl LabelIx {
    pub const OTHER: LabelIx = LabelIx(0);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MeterIx(u32);

pub(crate) struct Label {
    /// `None` for all tenants without a label of their own.
    pub tenant: Option<TenantId>,
    /// Dispatches on shared workers in the last minute.
    starts: LastMinute<i64>,
    /// Meters by the queue's label.
    meters: BTreeMap<QueueLabel, MeterIx>,
}

/// A queue's name without namespace; `None` for all queues without a label of their own.
pub(crate) type QueueLabel = Option<Arc<str>>;

/// How many tenants, queues and pairs of them have metrics of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricBounds {
    pub tenants: usize,
    pub queues: usize,
    /// Pairs of a tenant and a queue. Beyond that, a tenant's jobs in further queues are counted
    /// together.
    pub pairs: usize,
}

impl Default for MetricBounds {
    fn default() -> Self {
        Self { tenants: 1_000, queues: 1_000, pairs: 10_000 }
    }
}

/// A queue with a label of its own.
#[derive(Default)]
struct LabelledQueue {
    /// The tenant that it got the label for; `None` if an operator configured the queue.
    tenant: Option<TenantId>,
    /// Meters with its label.
    meters: usize,
}

pub(crate) struct Meters {
    bounds: MetricBounds,
    labels: Vec<Label>,
    /// A tenant keeps its label if it is forgotten and comes back, because a time series must not
    /// change its tenant.
    by_tenant: BTreeMap<TenantId, LabelIx>,
    /// Queues with a label of their own, which they keep while they have shards.
    queues: BTreeMap<Arc<str>, LabelledQueue>,
    queue_labels: CapCounter,
    all: Vec<Meter>,
    free: Vec<MeterIx>,
    starts: LastMinute<i64>,
    /// Jobs that entered the dead letter, by the queue's label and the job's type. Of each queue, the
    /// first types are counted apart.
    buried: BTreeMap<QueueLabel, BTreeMap<Option<JobType>, u64>>,
}

/// Types of jobs that are counted apart when they enter a queue's dead letter.
const MOST_TYPES: usize = 50;

impl Meters {
    pub fn new(bounds: MetricBounds) -> Self {
        let other = Label { tenant: None, starts: LastMinute::default(), meters: BTreeMap::new() };
        Self {
            bounds,
            labels: vec![other],
            by_tenant: BTreeMap::new(),
            queues: BTreeMap::new(),
            queue_labels: count_labels(bounds),
            all: Vec::new(),
            free: Vec::new(),
            starts: LastMinute::default(),
            buried: BTreeMap::new(),
        }
    }

    /// Counts a job that enters the dead letter. A queue's counts are kept as long as its label.
    pub fn count_buried(&mut self, queue: QueueLabel, kind: &JobType) {
        let types = self.buried.entry(queue).or_default();
        let known = types.contains_key(&Some(kind.clone()));
        let label = (known || types.len() < MOST_TYPES).then(|| kind.clone());
        *types.entry(label).or_default() += 1;
    }

    /// Jobs that entered the dead letters of up to `most` queues, beginning at index `from`, by the
    /// queue's label and the job's type.
    pub fn buried(&self, from: usize, most: usize) -> Vec<(QueueLabel, Option<JobType>, u64)> {
        let slice = self.buried.iter().skip(from).take(most);
        let types = slice.flat_map(|(queue, types)| {
            types.iter().map(|(kind, count)| (queue.clone(), kind.clone(), *count))
        });
        types.collect()
    }

    /// Removes all queue labels and meters.
    pub fn forget_queues(&mut self) {
        self.queues.clear();
        self.queue_labels = count_labels(self.bounds);
        self.all.clear();
        self.free.clear();
        self.labels.iter_mut().for_each(|label| label.meters.clear());
    }

    /// The tenant's label. The first tenants get one of their own.
    /// The last tenth of the labels is for tenants that an operator has configured.
    pub fn give_label(&mut self, tenant: &TenantId, configured: bool) -> LabelIx {
        if let Some(&label) = self.by_tenant.get(tenant) {
            return label;
        }
        let reserved = if configured { 0 } else { self.bounds.tenants / 10 };
        if self.by_tenant.len() >= self.bounds.tenants - reserved {
            return LabelIx::OTHER;
        }
        let label = LabelIx(self.labels.len() as u32);
        let (id, starts) = (Some(tenant.clone()), LastMinute::default());
        self.labels.push(Label { tenant: id, starts, meters: BTreeMap::new() });
        self.by_tenant.insert(tenant.clone(), label);
        label
    }

    pub fn has_label(&self, tenant: &TenantId) -> bool {
        self.by_tenant.contains_key(tenant)
    }

    /// The queue's label. The first queues get one of their own, within [`Cap::of_labels`]. If the
    /// asker is an operator, the queue was configured by one.
    pub fn give_queue_label(&mut self, queue: &QueueName, asker: Asker<'_>) -> QueueLabel {
        let label = self.queue_label(queue);
        if label.is_some() || self.queue_labels.check(asker).is_err() {
            return label;
        }
        let label: Arc<str> = queue.local().into();
        let tenant = asker.tenant.cloned();
        self.queue_labels.add(tenant.as_ref());
        self.queues.insert(label.clone(), LabelledQueue { tenant, meters: 0 });
        Some(label)
    }

    pub fn queue_label(&self, queue: &QueueName) -> QueueLabel {
        self.queues.get_key_value(queue.local()).map(|(label, _)| label.clone())
    }

    /// The queue is gone. Its label is freed, unless an operator configured the queue or another
    /// namespace has a queue of this name.
    pub fn queue_gone(&mut self, queue: &QueueName) {
        self.free_label(queue.local());
    }

    fn free_label(&mut self, label: &str) {
        let unused = |queue: &&LabelledQueue| queue.meters == 0 && queue.tenant.is_some();
        if let Some(queue) = self.queues.get(label).filter(unused) {
            self.queue_labels.remove(queue.tenant.as_ref());
            self.queues.remove(label);
            self.buried.remove(&Some(label.into()));
        }
    }

    /// The meter of a tenant in a queue, created if needed. It must be released when the shard is
    /// gone.
    pub fn acquire(&mut self, asker: Asker<'_>, tenant: &TenantId, queue: &QueueName) -> MeterIx {
        let ix = self.give_label(tenant, asker.configured);
        let in_use = self.all.len() - self.free.len();
        let label = &self.labels[ix.0 as usize];
        let queue_label = self
            .queue_label(queue)
            .filter(|queue_label| label.meters.contains_key(&Some(queue_label.clone())));
        let queue = match queue_label {
            None if in_use < self.bounds.pairs => self.give_queue_label(queue, asker),
            queue_label => queue_label,
        };
        let label = &mut self.labels[ix.0 as usize];
        if let Some(&meter) = label.meters.get(&queue) {
            self.all[meter.0 as usize].shards += 1;
            return meter;
        }
        let meter = self.free.pop().unwrap_or(MeterIx(self.all.len() as u32));
        label.meters.insert(queue.clone(), meter);
        if let Some(labelled) = queue.as_ref().and_then(|name| self.queues.get_mut(name)) {
            labelled.meters += 1;
        }
        let fresh = Meter { shards: 1, ..Meter::new(ix, queue) };
        match self.all.get_mut(meter.0 as usize) {
            Some(free) => *free = fresh,
            None => self.all.push(fresh),
        }
        meter
    }

    /// The meter of a tenant in a queue, if there is one.
    pub fn find(&self, tenant: &TenantId, queue: &QueueName) -> Option<MeterIx> {
        let label = &self.labels[self.by_tenant.get(tenant)?.0 as usize];
        label.meters.get(&self.queue_label(queue)).copied()
    }

    /// A shard is gone. The meter is freed with its last shard, and the queue's label with its last
    /// meter, unless `keep_label`.
    pub fn release(&mut self, ix: MeterIx, keep_label: bool) {
        let meter = &mut self.all[ix.0 as usize];
        meter.shards -= 1;
        if meter.shards > 0 {
            return;
        }
        meter.seen = false;
        self.labels[meter.label.0 as usize].meters.remove(&meter.queue);
        self.free.push(ix);
        let Some(label) = meter.queue.take() else { return };
        if let Some(queue) = self.queues.get_mut(&label) {
            queue.meters -= 1;
        }
        if !keep_label {
            self.free_label(&label);
        }
    }

    /// A meter to count in, which is included in metrics from now on.
    pub fn meter_mut(&mut self, ix: MeterIx) -> &mut Meter {
        let meter = &mut self.all[ix.0 as usize];
        meter.seen = true;
        meter
    }

    /// Counts a dispatch; `shared` if it counts against the tenant's share.
    pub fn count_dispatch(
        &mut self,
        ix: MeterIx,
        pool: Option<&PoolName>,
        shared: bool,
        now: Millis,
    ) {
        let meter = self.meter_mut(ix);
        meter.count_dispatch(pool);
        let label = meter.label;
        if !shared {
            return;
        }
        self.labels[label.0 as usize].starts.add(1, now);
        self.starts.add(1, now);
    }

    /// Takes back a shared dispatch that never reached its worker.
    pub fn undo_start(&mut self, ix: MeterIx, now: Millis) {
        let label = self.meter_mut(ix).label;
        self.labels[label.0 as usize].starts.add(-1, now);
        self.starts.add(-1, now);
    }

    /// After a restart: adds dispatches of the last minute.
    pub fn add_starts(&mut self, asker: Asker<'_>, tenant: &TenantId, slot: u32, starts: i64) {
        let label = self.give_label(tenant, asker.configured);
        self.labels[label.0 as usize].starts.add_to(slot, starts);
        self.starts.add_to(slot, starts);
    }

    /// The meters in use among `most` indexes beginning at `from`.
    pub fn slice(&self, from: usize, most: usize) -> impl Iterator<Item = &Meter> {
        self.all.iter().skip(from).take(most).filter(|meter| meter.seen)
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn labels(&self, from: usize, most: usize) -> impl Iterator<Item = &Label> {
        self.labels.iter().skip(from).take(most)
    }

    /// Dispatches on shared workers in the last minute, of all tenants.
    pub fn starts(&self, now: Millis) -> u64 {
        u64::try_from(self.starts.sum(now)).unwrap_or(0)
    }
}

fn count_labels(bounds: MetricBounds) -> CapCounter {
    CapCounter::new(Capped::Queues, Cap::of_labels(bounds.queues))
}

impl Label {
    /// Dispatches on shared workers in the last minute.
    pub fn starts(&self, now: Millis) -> u64 {
        u64::try_from(self.starts.sum(now)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn invented(tenant: &TenantId) -> Asker<'_> {
        Asker { tenant: Some(tenant), configured: false }
    }

    #[test]
    fn the_first_tenants_keep_their_labels_and_the_rest_share_one() {
        let mut meters = Meters::new(MetricBounds { tenants: 2, ..MetricBounds::default() });
        let tenant = |name| TenantId::parse(name).unwrap();
        let queue = |name| QueueName::parse(name).unwrap();
        let mut of = |name, on| meters.acquire(invented(&tenant(name)), &tenant(name), &queue(on));
        let (a, b, c) = (of("a", "q"), of("b", "q"), of("c", "q"));
        assert_eq!((of("d", "q"), of("a", "q"), of("b", "q")), (c, a, b));
        assert_ne!(of("a", "r"), a);
        assert_ne!(of("d", "r"), c);
        let labelled = ["a", "b", "c"].map(|name| meters.has_label(&tenant(name)));
        assert_eq!(labelled, [true, true, false]);
        assert_eq!(meters.slice(0, 9).count(), 0, "nothing was counted yet");
        meters.meter_mut(c).enqueued += 1;
        assert_eq!(
            meters.slice(0, 9).map(|meter| meter.label).collect::<Vec<_>>(),
            [LabelIx::OTHER]
        );
    }

    #[test]
    fn a_tenant_has_labels_for_half_of_the_queues_and_leaves_the_rest_to_others() {
        let bounds = MetricBounds { queues: 20, ..MetricBounds::default() };
        let mut meters = Meters::new(bounds);
        let tenants = ["a", "b", "c"].map(|name| TenantId::parse(name).unwrap());
        let queue = |number: usize| QueueName::parse(&format!("q{number}")).unwrap();
        let mut of =
            |tenant: &TenantId, number| meters.acquire(invented(tenant), tenant, &queue(number));
        let greedy: Vec<_> = (0..12).map(|number| of(&tenants[0], number)).collect();
        assert_eq!(greedy.iter().collect::<BTreeSet<_>>().len(), 11, "ten, and all others");
        assert_eq!(of(&tenants[0], 8), greedy[8]);
        let next: Vec<_> = (20..30).map(|number| of(&tenants[1], number)).collect();
        assert_eq!(next.iter().collect::<BTreeSet<_>>().len(), 9, "eight, and all others");
        let labels = |meters: &Meters, numbers: [usize; 4]| {
            numbers.map(|number| meters.queue_label(&queue(number)).is_some())
        };
        // The first label of a tenant is from the reserve.
        of(&tenants[2], 40);
        of(&tenants[2], 41);
        assert_eq!(labels(&meters, [9, 10, 40, 41]), [true, false, true, false]);
        // One label is left for a queue that an operator configured, then none.
        let given = [50, 51].map(|number| meters.give_queue_label(&queue(number), Asker::OPERATOR));
        assert_eq!(given, [Some("q50".into()), None]);
        // A queue that is gone frees its label, unless it is configured.
        (0..3).for_each(|number| meters.release(greedy[number], number == 2));
        meters.release(greedy[3], false);
        meters.release(greedy[8], false);
        assert_eq!(labels(&meters, [0, 2, 3, 8]), [false, true, false, true]);
        meters.queue_gone(&queue(2));
        meters.queue_gone(&queue(50));
        meters.queue_gone(&queue(8));
        assert_eq!(labels(&meters, [2, 8, 50, 4]), [false, true, true, true]);
        let again = meters.acquire(invented(&tenants[0]), &tenants[0], &queue(60));
        assert_ne!(again, greedy[10]);
    }

    #[test]
    fn pairs_of_tenants_and_queues_are_bounded() {
        let mut meters = Meters::new(MetricBounds { tenants: 9, queues: 90, pairs: 5 });
        for number in 0..20 {
            for tenant in ["a", "b"] {
                let queue = QueueName::parse(&format!("q{number}")).unwrap();
                let tenant = TenantId::parse(tenant).unwrap();
                meters.acquire(invented(&tenant), &tenant, &queue);
            }
        }
        // Five, and one for all other queues of each tenant.
        assert_eq!(meters.len(), 7);
    }
}
