//! Figures for those who watch from outside, by tenant and queue. They are counted where things
//! happen, so that reading them costs the same however many tenants there are.

mod lately;
mod meter;
mod times;

use std::collections::BTreeMap;
use std::sync::Arc;

use rota_model::{Millis, PoolName, QueueName, TenantId};

pub(crate) use lately::Lately;
pub use meter::Meter;
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
    /// Jobs handed out.
    pub lately: Lately,
    /// By the name that the tenant calls the queue.
    meters: BTreeMap<Arc<str>, MeterIx>,
}

pub(crate) struct Meters {
    most_labels: usize,
    labels: Vec<Label>,
    /// A tenant keeps its label when it is forgotten and comes back: a series that changes hands
    /// tells nothing.
    by_tenant: BTreeMap<TenantId, LabelIx>,
    all: Vec<Meter>,
    free: Vec<MeterIx>,
    lately: Lately,
}

impl Meters {
    pub fn new(most_labels: usize) -> Self {
        let other = Label { tenant: None, lately: Lately::default(), meters: BTreeMap::new() };
        Self {
            most_labels,
            labels: vec![other],
            by_tenant: BTreeMap::new(),
            all: Vec::new(),
            free: Vec::new(),
            lately: Lately::default(),
        }
    }

    /// The tenant's label. The first tenants that come up get one of their own.
    pub fn give_label(&mut self, tenant: &TenantId) -> LabelIx {
        if let Some(&label) = self.by_tenant.get(tenant) {
            return label;
        }
        if self.by_tenant.len() >= self.most_labels {
            return LabelIx::OTHER;
        }
        let label = LabelIx(self.labels.len() as u32);
        let (id, lately) = (Some(tenant.clone()), Lately::default());
        self.labels.push(Label { tenant: id, lately, meters: BTreeMap::new() });
        self.by_tenant.insert(tenant.clone(), label);
        label
    }

    pub fn has_label(&self, tenant: &TenantId) -> bool {
        self.by_tenant.contains_key(tenant)
    }

    /// Where a tenant's jobs in a queue are counted, until it is released.
    pub fn of(&mut self, tenant: &TenantId, queue: &QueueName) -> MeterIx {
        let ix = self.give_label(tenant);
        let label = &mut self.labels[ix.0 as usize];
        if let Some(&meter) = label.meters.get(queue.local()) {
            self.all[meter.0 as usize].shards += 1;
            return meter;
        }
        let queue = Arc::<str>::from(queue.local());
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
        self.labels[label.0 as usize].lately.add(now);
        self.lately.add(now);
    }

    /// Jobs that were handed out before this process began.
    pub fn add_lately(&mut self, tenant: &TenantId, starts: Lately) {
        let label = self.give_label(tenant);
        self.labels[label.0 as usize].lately.merge(starts);
        self.lately.merge(starts);
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

    /// All jobs handed out in the last minute.
    pub fn lately(&self, now: Millis) -> u64 {
        self.lately.of(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_tenants_keep_their_labels_and_the_rest_share_one() {
        let mut meters = Meters::new(2);
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
}
