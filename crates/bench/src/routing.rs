//! Measures the choice of a region alone, without a network.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rota_federation::{
    AttemptResult, Federation, Load, Moment, Policy, Region, RegionSet, Registry, RegistryError,
    Strategy, Topology, Wishes,
};

use crate::{BenchError, Line, Options, Progress};

/// Decisions between two looks at the clock.
const BATCH: u64 = 1_000;
const SOME: usize = 100;
const MANY: usize = 1_000;

/// Routing decisions with 100 and 1,000 regions, and a round of health checks of 1,000.
pub(crate) fn decisions(
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<Line>, BenchError> {
    let duration = options.duration / 10;
    let mut lines = Vec::new();
    for regions in [SOME, MANY] {
        let federation = healthy(regions).map_err(|error| BenchError::Server(error.to_string()))?;
        let mut failing = federation.clone();
        for _ in 0..5 {
            if let Some(attempt) = failing.ask(failing.local(), Moment::ZERO) {
                failing.finish(attempt, AttemptResult::Failed, Moment::ZERO);
            }
        }
        let mut loads = vec![
            (format!("route by affinity, {regions} regions"), &federation, None),
            (format!("route around a failed region, {regions}"), &failing, None),
        ];
        let others =
            [Strategy::Overflow, Strategy::RoundRobin, Strategy::Latency, Strategy::ActivePassive];
        for strategy in others {
            let name = format!("route by {}, {regions} regions", strategy.as_str());
            loads.push((name, &federation, Some(strategy)));
        }
        for (name, federation, strategy) in loads {
            progress.show(&name, 0.0, 0.0)?;
            let rate = route(federation, strategy, duration)?;
            lines.push(Line::value(&name, rate, "per second"));
        }
    }
    let name = format!("health checks, {MANY} regions");
    progress.show(&name, 0.0, 0.0)?;
    let mut federation = healthy(MANY).map_err(|error| BenchError::Server(error.to_string()))?;
    lines.push(Line::value(&name, check(&mut federation, duration), "per second"));
    Ok(lines)
}

/// Regions that are all well, measured and equally loaded.
fn healthy(regions: usize) -> Result<Federation, RegistryError> {
    let region = |i| Region::new(&format!("region-{i}"), "https://region.example.com");
    let regions = (0..regions).map(region).collect::<Result<Vec<_>, _>>()?;
    let registry = Registry::new(regions, Topology::Mesh)?;
    let mut federation = Federation::new(registry, Policy::new("region-0"))?;
    for (i, region) in (0..).zip(federation.registry().indexes()) {
        if let Some(attempt) = federation.ask(region, Moment::ZERO) {
            let round_trip = Duration::from_millis(5 + i % 90);
            federation.checked(attempt, Some(round_trip), Moment::ZERO);
        }
        federation.loaded(region, Load { waiting: i % 50, active: 1 }, Moment::ZERO);
    }
    Ok(federation)
}

/// Decisions per second.
fn route(
    federation: &Federation,
    strategy: Option<Strategy>,
    duration: Duration,
) -> Result<f64, BenchError> {
    let (start, mut decided) = (Instant::now(), 0);
    let tried = RegionSet::new();
    let mut wishes = Wishes { strategy, ..Wishes::default() };
    while start.elapsed() < duration {
        for _ in 0..BATCH {
            wishes.draw = wishes.draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let decision = federation.route(black_box(&wishes), &tried, Moment::ZERO);
            black_box(decision).map_err(|error| BenchError::wrong(error.to_string()))?;
        }
        decided += BATCH;
    }
    Ok(decided as f64 / start.elapsed().as_secs_f64())
}

/// Health checks per second that are recorded, without the requests.
fn check(federation: &mut Federation, duration: Duration) -> f64 {
    let (start, mut checked) = (Instant::now(), 0_u64);
    while start.elapsed() < duration {
        for region in federation.registry().indexes() {
            if let Some(attempt) = federation.ask(region, Moment::ZERO) {
                let round_trip = Duration::from_millis(10);
                federation.checked(attempt, Some(round_trip), Moment::ZERO);
            }
            checked += 1;
        }
    }
    checked as f64 / start.elapsed().as_secs_f64()
}
