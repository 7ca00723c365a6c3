//! Takes the figures from the engine, a slice at a time, so that nobody waits long for a scrape.

use std::collections::BTreeMap;
use std::sync::Arc;

use rota_engine::{
    Engine, Histogram, Interval, LimitMeter, LimitName, PoolView, QueueMeter, ShardMeter, Strategy,
};
use rota_model::{Ending, State};

use super::labels::Labels;
use crate::http::App;
use crate::http::error::ApiError;

const TENANTS: usize = 2_000;
const QUEUES: usize = 500;
const LIMITS: usize = 1_000;

/// Everything that a page shows.
#[derive(Default)]
pub(super) struct Figures {
    pub queues: BTreeMap<Arc<str>, OfQueue>,
    /// By tenant and queue.
    pub shards: BTreeMap<(Arc<str>, Arc<str>), OfShard>,
    /// Parts of what was handed out in the last minute, by tenant.
    pub shares: BTreeMap<Arc<str>, f64>,
    pub tenants: usize,
    pub limits: BTreeMap<Arc<str>, OfLimit>,
    pub pools: Vec<PoolView>,
    pub workers: BTreeMap<&'static str, usize>,
    pub waiting_fetches: usize,
}

/// A queue; in namespaces, all queues that tenants call so.
#[derive(Default)]
pub(super) struct OfQueue {
    pub live: [u64; State::ALL.len()],
    pub bytes: u64,
    pub pressure: Option<f64>,
    pub past: Interval,
    pub ended: [u64; Ending::ALL.len()],
    pub retried: u64,
    pub dispatched: u64,
    pub ratio: f64,
    pub starved: u64,
    pub rejected: u64,
    pub dropped: u64,
}

#[derive(Default)]
pub(super) struct OfShard {
    pub active: u64,
    pub depth: u64,
    pub enqueued: u64,
    pub completed: u64,
    pub failed: u64,
}

#[derive(Default)]
pub(super) struct OfLimit {
    pub active: u64,
    pub waiting: u64,
    pub exceeded: [u64; Strategy::ALL.len()],
    pub waits: Option<Histogram>,
}

pub(super) async fn gather(
    app: &App,
    tenants: &mut Labels,
    keys: &mut Labels,
) -> Result<Figures, ApiError> {
    let mut figures = Figures::default();
    let look = app.handle.look(|engine| {
        (engine.pools(), engine.workers_by_state(), engine.waiting_fetches(), engine.tenant_count())
    });
    (figures.pools, figures.workers, figures.waiting_fetches, figures.tenants) = look.await?;
    gather_queues(app, &mut figures).await?;
    gather_tenants(app, &mut figures, tenants).await?;
    gather_limits(app, &mut figures, keys).await?;
    Ok(figures)
}

async fn gather_queues(app: &App, figures: &mut Figures) -> Result<(), ApiError> {
    let mut from = 0;
    loop {
        let slice = app.handle.look(move |engine| engine.queue_meters(from, QUEUES)).await?;
        for meter in &slice {
            figures.queues.entry(meter.name.local().into()).or_default().add(meter);
        }
        if slice.len() < QUEUES {
            return Ok(());
        }
        from += QUEUES;
    }
}

async fn gather_tenants(
    app: &App,
    figures: &mut Figures,
    labels: &mut Labels,
) -> Result<(), ApiError> {
    let mut next = Some(0);
    while let Some(from) = next {
        let (slice, more) =
            app.handle.look(move |engine| engine.tenant_meters(from, TENANTS)).await?;
        next = more;
        for tenant in &slice {
            let label = labels.of(&tenant.id);
            *figures.shares.entry(label.clone()).or_default() += tenant.share;
            for shard in &tenant.shards {
                let of = (label.clone(), shard.queue.local().into());
                figures.shards.entry(of).or_default().add(shard);
            }
        }
    }
    Ok(())
}

async fn gather_limits(
    app: &App,
    figures: &mut Figures,
    labels: &mut Labels,
) -> Result<(), ApiError> {
    let mut last = None::<LimitName>;
    loop {
        let after = last.take();
        let look = move |engine: &Engine| engine.limit_meters(after.as_ref(), LIMITS);
        let slice = app.handle.look(look).await?;
        for meter in &slice {
            figures.limits.entry(labels.of(&meter.name.key)).or_default().add(meter);
        }
        if slice.len() < LIMITS {
            return Ok(());
        }
        last = slice.last().map(|meter| meter.name.clone());
    }
}

impl OfQueue {
    fn add(&mut self, meter: &QueueMeter) {
        for state in State::ALL {
            self.live[usize::from(state.code())] += meter.of(state);
        }
        for ending in Ending::ALL {
            self.ended[usize::from(ending.code())] += meter.ended.get(ending);
        }
        self.bytes += meter.bytes;
        // Of several, the fullest counts.
        self.pressure = self.pressure.into_iter().chain(meter.pressure).reduce(f64::max);
        self.past.merge(&meter.past);
        self.retried += meter.retried;
        self.dispatched += meter.dispatched;
        self.ratio += meter.ratio;
        self.starved += meter.starved;
        self.rejected += meter.rejected;
        self.dropped += meter.dropped;
    }

    pub fn of(&self, state: State) -> u64 {
        self.live[usize::from(state.code())]
    }

    /// Jobs that ended so.
    pub fn ended(&self, endings: &[Ending]) -> u64 {
        endings.iter().map(|ending| self.ended[usize::from(ending.code())]).sum()
    }
}

impl OfShard {
    fn add(&mut self, meter: &ShardMeter) {
        self.active += meter.active;
        self.depth += meter.depth;
        self.enqueued += meter.totals.enqueued;
        self.completed += meter.totals.completed;
        self.failed += meter.totals.failed;
    }
}

impl OfLimit {
    fn add(&mut self, meter: &LimitMeter) {
        self.active += meter.active;
        self.waiting += meter.waiting;
        self.exceeded.iter_mut().zip(meter.exceeded).for_each(|(sum, n)| *sum += n);
        if let Some(waits) = &meter.waits {
            self.waits.get_or_insert_default().merge(waits);
        }
    }
}
