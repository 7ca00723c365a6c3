//! Reads the metrics from the engine in slices, so that a scrape delays no requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use rota_engine::{
    Engine, LabelView, LimitKind, LimitMeter, LimitName, Meter, PoolView, QueueMeter, Times,
    WorkerCounts,
};

use rota_model::JobType;
use rota_storage::ArchiveStatus;

use super::labels::{Key, Keys};
use crate::http::error::ApiError;
use crate::http::{Access, View, engine_slices};
use crate::request_limits::RequestCounts;
use crate::runtime::{LookupCounts, ViewLag};

/// At most some tenths of a millisecond each.
const METERS: usize = 500;
const LABELS: usize = 2_000;
const POOLS: usize = 500;
const QUEUES: usize = 1_000;
const LIMITS: usize = 500;

/// Everything that a page shows.
#[derive(Default)]
pub(super) struct Figures {
    /// `None` are those without a label of their own.
    pub queues: BTreeMap<Option<Arc<str>>, OfQueue>,
    pub meters: Vec<Meter>,
    /// Those that the meters speak of, by number.
    pub labels: Vec<LabelView>,
    pub tenants: usize,
    pub limits: BTreeMap<Key, OfLimit>,
    pub pools: Vec<PoolView>,
    pub workers: WorkerCounts,
    pub waiting_fetches: usize,
    /// Jobs that entered the dead letter, by the queue's label and the job's type.
    pub buried: Vec<(Option<Arc<str>>, Option<JobType>, u64)>,
    /// Requests to which a limit applied.
    pub requests: RequestCounts,
    pub lookups: LookupCounts,
    pub view_lag: ViewLag,
    /// By how much the server's time is ahead of the wall clock.
    pub clock_ahead_ms: u64,
    /// Reads that failed because what they needed is damaged.
    pub damaged_reads: u64,
    /// How far the archive of the log has come, if there is one.
    pub archive: Option<ArchiveStatus>,
    /// TLS handshakes that failed, and those that were not tried because of that.
    pub handshakes: (u64, u64),
}

/// A queue as a whole; in namespaces, all queues that tenants call so.
#[derive(Default)]
pub(super) struct OfQueue {
    pub pressure: Option<f64>,
    pub bounded: bool,
    pub ratio: f64,
    pub starved: u64,
}

#[derive(Default)]
pub(super) struct OfLimit {
    pub active: u64,
    pub waiting: u64,
    pub exceeded: [u64; LimitKind::ALL.len()],
    pub waits: Option<Times>,
}

/// What a tenant may not see.
pub(super) const METRICS: &str = "What is measured of all tenants";

pub(super) async fn gather(app: &Access, keys: &mut Keys) -> Result<Figures, ApiError> {
    let requests = app.request_limits.counts();
    let mut figures = Figures {
        requests,
        lookups: app.lookups(),
        view_lag: app.view_lag(),
        clock_ahead_ms: app.clock().now().ahead_ms,
        damaged_reads: app.health.damaged_reads(),
        archive: app.archive_status(),
        ..Figures::default()
    };
    figures.handshakes = app.handshakes.counts();
    let operator = app.operator(METRICS)?;
    let look = operator.look(|engine| {
        (engine.worker_counts(None), engine.waiting_fetches(), engine.tenant_count())
    });
    (figures.workers, figures.waiting_fetches, figures.tenants) = look.await?;
    let pools = |view: View<'_>, after: &str, most| match view.operator() {
        Some(engine) => engine.operators_pools_after(after, most),
        None => Vec::new(),
    };
    let name = |pool: &PoolView| pool.name.to_string();
    figures.pools = engine_slices::gather_by_name(app, POOLS, pools, name).await?;
    gather_queues(app, &mut figures).await?;
    figures.meters = {
        let meters = |view: View<'_>, from, most| {
            view.operator().map_or_else(Default::default, |engine| engine.meters(from, most))
        };
        engine_slices::gather(app, METERS, meters).await?
    };
    // After the meters: labels only ever join, so those of all meters are there.
    gather_labels(app, &mut figures).await?;
    gather_limits(app, &mut figures, keys).await?;
    let buried = |view: View<'_>, from, most| {
        let slice = view.operator().map_or_else(Vec::new, |engine| engine.buried(from, most));
        let next = (!slice.is_empty()).then_some(from + most);
        (slice, next)
    };
    figures.buried = engine_slices::gather(app, QUEUES, buried).await?;
    Ok(figures)
}

async fn gather_queues(app: &Access, figures: &mut Figures) -> Result<(), ApiError> {
    let mut from = 0;
    loop {
        let slice =
            app.operator(METRICS)?.look(move |engine| engine.queue_meters(from, QUEUES)).await?;
        for meter in &slice {
            figures.queues.entry(meter.label.clone()).or_default().add(meter);
        }
        if slice.len() < QUEUES {
            return Ok(());
        }
        from += QUEUES;
    }
}

async fn gather_labels(app: &Access, figures: &mut Figures) -> Result<(), ApiError> {
    loop {
        let from = figures.labels.len();
        let slice = app.operator(METRICS)?.look(move |engine| engine.labels(from, LABELS)).await?;
        let last = slice.len() < LABELS;
        figures.labels.extend(slice);
        if last {
            return Ok(());
        }
    }
}

async fn gather_limits(
    app: &Access,
    figures: &mut Figures,
    keys: &mut Keys,
) -> Result<(), ApiError> {
    let mut last = None::<LimitName>;
    loop {
        let after = last.take();
        let look = move |engine: &Engine| engine.limit_meters(after.as_ref(), LIMITS);
        let slice = app.operator(METRICS)?.look(look).await?;
        for meter in &slice {
            figures.limits.entry(keys.of(meter)).or_default().add(meter);
        }
        if slice.len() < LIMITS {
            keys.end_scrape();
            return Ok(());
        }
        last = slice.last().map(|meter| meter.name.clone());
    }
}

impl OfQueue {
    fn add(&mut self, meter: &QueueMeter) {
        // Of several, the fullest counts.
        self.pressure = self.pressure.into_iter().chain(meter.pressure).reduce(f64::max);
        self.bounded |= meter.bounded;
        self.ratio += meter.ratio;
        self.starved += meter.starved;
    }
}

impl OfLimit {
    fn add(&mut self, meter: &LimitMeter) {
        self.active += meter.active;
        self.waiting += meter.waiting;
        self.exceeded.iter_mut().zip(meter.exceeded).for_each(|(sum, n)| *sum += n);
        match (&mut self.waits, &meter.waits) {
            (Some(sum), Some(waits)) => sum.merge(waits),
            (None, Some(waits)) => self.waits = Some(waits.clone()),
            (_, None) => {}
        }
    }
}
