//! Measures the cost of many tenants, blocked jobs, limits and quotas.

use std::time::{Duration, Instant};

use crate::http::{Drive, drive};
use crate::load::{Enqueue, Limit, Tally, Varied, Variety, Worker};
use crate::process::Process;
use crate::server_counts::{agree, counts, get, put};
use crate::{BenchError, Line, Options, Progress};

const FEW: u64 = 10;
const KEYS: u64 = 10_000;
/// Jobs that may start in each measurement. Rounds alternate between the two servers, so that a machine
/// that slows down affects both.
const JOBS: u64 = 20_000;
const ROUNDS: usize = 7;
const EACH: u64 = 300;
const AT_ONCE: u64 = 500;

/// Measures fetch and ack with these numbers of tenants, blocked jobs and limits, compared with ten
/// tenants and none. Also measures the cost of quotas and of scraping metrics.
pub fn tenants(
    options: &Options,
    tenants: u64,
    blocked: u64,
    progress: &dyn Progress,
) -> Result<Vec<Line>, BenchError> {
    let home = tempfile::Builder::new().prefix("rota-bench-").tempdir_in(&options.dir)?;
    let bench = Bench { options, progress };
    let serve = |name: &str| Process::serve(options, &home.path().join(name));
    let plain = |tenants| Variety { tenants, limit: Limit::None };

    let few = serve("few")?;
    bench.fill(&few, plain(FEW), JOBS, "filling, ten tenants")?;
    let mut lines = Vec::new();

    let many = serve("many")?;
    bench.fill(&many, plain(tenants), tenants.max(JOBS), "filling, many tenants")?;
    lines.extend(bench.compare(&few, &many, &format!("{tenants} tenants"))?);
    bench.drain(&many)?;
    // The same jobs, but of ten tenants, so that the difference is the cost of the tenants.
    let alike = serve("alike")?;
    bench.fill(&alike, plain(FEW), tenants.max(JOBS), "filling, as many jobs of ten tenants")?;
    bench.drain(&alike)?;
    if let (Some(many), Some(few)) = (many.memory(), alike.memory()) {
        let each = many.saturating_sub(few) as f64 / tenants as f64;
        let line = Line::value("memory for each known tenant", each, "bytes");
        let of = format!("the same jobs of ten tenants, {:.0} MB", few as f64 / 1e6);
        lines.push(line.against(&of, many as f64 / few as f64));
    }
    alike.stop()?;
    lines.push(scrape(&many)?);
    many.stop()?;

    let held = serve("held")?;
    let closed = Variety { tenants: FEW, limit: Limit::Closed { keys: 100 } };
    bench.fill(&held, closed, blocked, "filling, blocked jobs")?;
    bench.fill(&held, plain(FEW), JOBS, "filling, free jobs")?;
    lines.extend(bench.compare(&few, &held, &format!("{blocked} blocked jobs"))?);
    held.stop()?;

    let keyed = serve("keyed")?;
    let open = Variety { tenants: FEW, limit: Limit::Open { keys: KEYS } };
    bench.fill(&keyed, open, JOBS, "filling, many limits")?;
    lines.extend(bench.compare(&few, &keyed, &format!("{KEYS} limits in use"))?);
    keyed.stop()?;

    lines.extend(bench.quotas(&few)?);
    few.stop()?;
    Ok(lines)
}

struct Bench<'a> {
    options: &'a Options,
    progress: &'a dyn Progress,
}

impl Bench<'_> {
    fn fill(
        &self,
        server: &Process,
        variety: Variety,
        jobs: u64,
        name: &str,
    ) -> Result<(), BenchError> {
        let before = counts(&server.target)?;
        let connections = self.options.batch_connections() as u64;
        let each = jobs.div_ceil(connections);
        let part = |n: u64| (n * each).min(jobs)..((n + 1) * each).min(jobs);
        let parts = (0..connections).map(part).filter(|part| !part.is_empty());
        let payload = self.options.payload;
        let scripts = parts.map(|part| Varied::new(variety, part, payload, AT_ONCE)).collect();
        let (_, scripts) = drive(&self.how(server, name), scripts)?;
        let enqueued = scripts.iter().map(Tally::enqueued).sum();
        agree(&server.target, before, enqueued, 0)
    }

    /// Median times of fetch and ack together, in alternating rounds.
    fn compare(
        &self,
        base: &Process,
        other: &Process,
        what: &str,
    ) -> Result<Vec<Line>, BenchError> {
        let (mut bases, mut others) = (Vec::new(), Vec::new());
        self.round(base, "warming up")?;
        self.round(other, "warming up")?;
        for _ in 0..ROUNDS {
            bases.push(self.round(base, "fetch and ack, ten tenants")?);
            others.push(self.round(other, &format!("fetch and ack, {what}"))?);
        }
        let (base, other) = (median(&mut bases), median(&mut others));
        let line = Line::value(&format!("fetch and ack with {what}"), other, "ms");
        Ok(vec![line.against(&format!("ten tenants and nothing else, {base:.3} ms"), other / base)])
    }

    fn round(&self, server: &Process, name: &str) -> Result<f64, BenchError> {
        let before = counts(&server.target)?;
        let (measured, scripts) = drive(&self.how(server, name), vec![Worker::new(0, 1, EACH)])?;
        agree(&server.target, before, 0, scripts[0].handled())?;
        let times = |kind| measured.times(kind).map(|times| times.p50_ms);
        match (times(Worker::FETCH), times(Worker::ACK)) {
            (Some(fetch), Some(ack)) => Ok(fetch + ack),
            _ => Err(BenchError::wrong("nothing was fetched")),
        }
    }

    fn drain(&self, server: &Process) -> Result<(), BenchError> {
        let before = counts(&server.target)?;
        let workers = (0..self.options.batch_connections()).map(|n| Worker::new(n, 500, u64::MAX));
        let (_, scripts) = drive(&self.how(server, "handling them all"), workers.collect())?;
        agree(&server.target, before, 0, scripts.iter().map(Tally::handled).sum())
    }

    /// Compares enqueues of a tenant with all quotas and of one without, on the same server.
    fn quotas(&self, server: &Process) -> Result<Vec<Line>, BenchError> {
        let limits = r#"{"limits":{"max_concurrency":1000000,"max_queue_depth":1000000000,
            "max_scheduled":1000000000,"max_enqueue_rate":{"limit":1000000000,"period":"PT1M"}},
            "fairness_weight":2,"priority_boost":1}"#;
        put(&server.target, "/ojs/v1/admin/tenants/limited", limits)?;
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            without.push(self.enqueue(server, "free", "enqueue, no quotas")?);
            with.push(self.enqueue(server, "limited", "enqueue, all quotas")?);
        }
        let (with, without) = (median(&mut with), median(&mut without));
        let line = Line::value("enqueue with all quotas", with, "ms");
        Ok(vec![line.against(&format!("enqueue without, {without:.3} ms"), with / without)])
    }

    fn enqueue(&self, server: &Process, tenant: &str, name: &str) -> Result<f64, BenchError> {
        let script = Enqueue::of_tenant(self.options.payload, tenant, EACH);
        let (measured, _) = drive(&self.how(server, name), vec![script])?;
        let times = measured.times(0).ok_or_else(|| BenchError::wrong("nothing was enqueued"))?;
        Ok(times.p50_ms)
    }

    fn how<'a>(&'a self, server: &'a Process, name: &'a str) -> Drive<'a> {
        Drive::to_the_end(name, &server.target, self.progress)
    }
}

/// The fastest of a few scrapes, because a slow one may have waited for other work.
fn scrape(server: &Process) -> Result<Line, BenchError> {
    let mut best = f64::MAX;
    for _ in 0..5 {
        // Longer than the server caches a scrape.
        std::thread::sleep(Duration::from_millis(1_100));
        let start = Instant::now();
        let (status, body) = get(&server.target, "/metrics")?;
        best = best.min(start.elapsed().as_secs_f64() * 1_000.0);
        if status != 200 || memchr::memmem::find(&body, b"ojs_tenant_queue_depth").is_none() {
            return Err(BenchError::wrong(format!("status {status}, or no metrics of tenants")));
        }
    }
    Ok(Line::value("scrape of the metrics", best, "ms"))
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
