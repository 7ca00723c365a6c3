//! Figures for those who watch from outside, by tenant and queue. They are counted where things
//! happen, so that reading them costs the same however many tenants there are.

mod last_minute;
mod meter;
mod recent;
mod times;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rota_model::{Millis, PoolName, QueueName, TenantId};

pub(crate) use last_minute::{LastMinute, SLOT_MS, SLOTS, slot_of};
pub use meter::Meter;
pub(crate) use recent::{Recent, Sum};
pub use times::Times;

/// Which tenant a figure belongs to, as far as the outside is told. The first is for all tenants
/// that have none of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelIx(pub u32);

impl LabelIx {
    pub const OTHER: LabelIx = LabelIx(0);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MeterIx(u32);

pub(crate) struct Label {
    /// `None` is everyone without a label of their own.
    pub tenant: Option<TenantId>,
    /// Jobs handed out to shared workers.
    starts: LastMinute<i64>,
    /// By the queue's label.
    meters: BTreeMap<QueueLabel, MeterIx>,
}

/// The name that tenants call a queue; `None` is all that have no label of their own.
pub(crate) type QueueLabel = Option<Arc<str>>;

/// How much is told apart.
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

pub(crate) struct Meters {
    bounds: MetricBounds,
    labels: Vec<Label>,
    /// A tenant keeps its label when it is forgotten and comes back: a series that changes hands
    /// tells nothing.
    by_tenant: BTreeMap<TenantId, LabelIx>,
    /// Queues with a label of their own, which they keep.
    queues: BTreeSet<Arc<str>>,
    /// Those of them that had no settings when they got it.
    unconfigured_queues: usize,
    all: Vec<Meter>,
    free: Vec<MeterIx>,
    starts: LastMinute<i64>,
}

impl Meters {
    pub fn new(bounds: MetricBounds) -> Self {
        let other = Label { tenant: None, starts: LastMinute::default(), meters: BTreeMap::new() };
        Self {
            bounds,
            labels: vec![other],
            by_tenant: BTreeMap::new(),
            queues: BTreeSet::new(),
            unconfigured_queues: 0,
            all: Vec::new(),
            free: Vec::new(),
            starts: LastMinute::default(),
        }
    }

    /// No queue has a label, and nothing was counted in any.
    pub fn forget_queues(&mut self) {
        self.queues.clear();
        self.unconfigured_queues = 0;
        self.all.clear();
        self.free.clear();
        self.labels.iter_mut().for_each(|label| label.meters.clear());
    }

    /// The tenant's label. The first tenants that come up get one of their own.
    pub fn give_label(&mut self, tenant: &TenantId) -> LabelIx {
        if let Some(&label) = self.by_tenant.get(tenant) {
            return label;
        }
        if self.by_tenant.len() >= self.bounds.tenants {
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

    /// The queue's label. The first queues that come up get one of their own; the last tenth is kept
    /// for queues that an operator has configured.
    pub fn give_queue_label(&mut self, queue: &QueueName, configured: bool) -> QueueLabel {
        let most = self.bounds.queues;
        let fits =
            self.queues.len() < most && (configured || self.unconfigured_queues < most - most / 10);
        if fits && self.queues.insert(queue.local().into()) && !configured {
            self.unconfigured_queues += 1;
        }
        self.queue_label(queue)
    }

    pub fn queue_label(&self, queue: &QueueName) -> QueueLabel {
        self.queues.get(queue.local()).cloned()
    }

    /// Where a tenant's jobs in a queue are counted, until it is released.
    pub fn of(&mut self, tenant: &TenantId, queue: &QueueName) -> MeterIx {
        let ix = self.give_label(tenant);
        let mut queue = self.give_queue_label(queue, false);
        let label = &mut self.labels[ix.0 as usize];
        let in_use = self.all.len() - self.free.len();
        if !label.meters.contains_key(&queue) && in_use >= self.bounds.pairs {
            queue = None;
        }
        if let Some(&meter) = label.meters.get(&queue) {
            self.all[meter.0 as usize].shards += 1;
            return meter;
        }
        let meter = self.free.pop().unwrap_or(MeterIx(self.all.len() as u32));
        label.meters.insert(queue.clone(), meter);
        let fresh = Meter { shards: 1, ..Meter::new(ix, queue) };
        match self.all.get_mut(meter.0 as usize) {
            Some(free) => *free = fresh,
            None => self.all.push(fresh),
        }
        meter
    }

    /// A tenant's part of a queue is gone. What was counted goes with the last that shared the meter.
    pub fn release(&mut self, ix: MeterIx) {
        let meter = &mut self.all[ix.0 as usize];
        meter.shards -= 1;
        if meter.shards == 0 {
            meter.seen = false;
            self.labels[meter.label.0 as usize].meters.remove(&meter.queue);
            self.free.push(ix);
        }
    }

    /// For counting something: it is worth showing from now on.
    pub fn at(&mut self, ix: MeterIx) -> &mut Meter {
        let meter = &mut self.all[ix.0 as usize];
        meter.seen = true;
        meter
    }

    /// A job was handed out; `shared` where it counts against its tenant's share.
    pub fn count_dispatch(
        &mut self,
        ix: MeterIx,
        pool: Option<&PoolName>,
        shared: bool,
        now: Millis,
    ) {
        let meter = self.at(ix);
        meter.count_dispatch(pool);
        let label = meter.label;
        if !shared {
            return;
        }
        self.labels[label.0 as usize].starts.add(1, now);
        self.starts.add(1, now);
    }

    /// Nobody received a job that counts against its tenant's share.
    pub fn undo_start(&mut self, ix: MeterIx, now: Millis) {
        let label = self.at(ix).label;
        self.labels[label.0 as usize].starts.add(-1, now);
        self.starts.add(-1, now);
    }

    /// Jobs that were handed out before this process began.
    pub fn add_starts(&mut self, tenant: &TenantId, slot: u32, starts: i64) {
        let label = self.give_label(tenant);
        self.labels[label.0 as usize].starts.add_to(slot, starts);
        self.starts.add_to(slot, starts);
    }

    /// So many from this place on that were ever used. Fewer than there are places is not the end.
    pub fn slice(&self, from: usize, most: usize) -> impl Iterator<Item = &Meter> {
        self.all.iter().skip(from).take(most).filter(|meter| meter.seen)
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn labels(&self, from: usize, most: usize) -> impl Iterator<Item = &Label> {
        self.labels.iter().skip(from).take(most)
    }

    /// All jobs handed out to shared workers in the last minute.
    pub fn starts(&self, now: Millis) -> u64 {
        u64::try_from(self.starts.sum(now)).unwrap_or(0)
    }
}

impl Label {
    /// Of them, those of this label.
    pub fn starts(&self, now: Millis) -> u64 {
        u64::try_from(self.starts.sum(now)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_tenants_keep_their_labels_and_the_rest_share_one() {
        let mut meters = Meters::new(MetricBounds { tenants: 2, ..MetricBounds::default() });
        let tenant = |name| TenantId::parse(name).unwrap();
        let queue = |name| QueueName::parse(name).unwrap();
        let mut of = |name, on| meters.of(&tenant(name), &queue(on));
        let (a, b, c) = (of("a", "q"), of("b", "q"), of("c", "q"));
        assert_eq!((of("d", "q"), of("a", "q"), of("b", "q")), (c, a, b));
        assert_ne!(of("a", "r"), a);
        assert_ne!(of("d", "r"), c);
        let own = ["a", "b", "c"].map(|name| meters.has_label(&tenant(name)));
        assert_eq!(own, [true, true, false]);
        assert_eq!(meters.slice(0, 9).count(), 0, "nothing was counted yet");
        meters.at(c).enqueued += 1;
        assert_eq!(
            meters.slice(0, 9).map(|meter| meter.label).collect::<Vec<_>>(),
            [LabelIx::OTHER]
        );
    }

    #[test]
    fn the_first_queues_keep_their_labels_and_the_rest_share_one() {
        let bounds = MetricBounds { queues: 10, ..MetricBounds::default() };
        let mut meters = Meters::new(bounds);
        let tenant = TenantId::parse("a").unwrap();
        let queue = |number: usize| QueueName::parse(&format!("q{number}")).unwrap();
        let of: Vec<_> = (0..12).map(|number| meters.of(&tenant, &queue(number))).collect();
        assert_eq!(of.iter().collect::<BTreeSet<_>>().len(), 10, "nine, and all others");
        assert_eq!(meters.of(&tenant, &queue(8)), of[8]);
        assert_eq!((of[9], meters.queue_label(&queue(9))), (of[11], None));
        // There is one left for a queue that an operator has configured, and then none.
        let given = [20, 21].map(|number| meters.give_queue_label(&queue(number), true));
        assert_eq!(given, [Some("q20".into()), None]);
        assert_ne!(meters.of(&tenant, &queue(20)), of[9]);
    }

    #[test]
    fn pairs_of_tenants_and_queues_are_bounded() {
        let mut meters = Meters::new(MetricBounds { tenants: 9, queues: 90, pairs: 5 });
        for number in 0..20 {
            for tenant in ["a", "b"] {
                let queue = QueueName::parse(&format!("q{number}")).unwrap();
                meters.of(&TenantId::parse(tenant).unwrap(), &queue);
            }
        }
        // Five, and for each of the tenants one of all its other queues.
        assert_eq!(meters.len(), 7);
    }
}
