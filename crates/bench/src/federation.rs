//! Measures what a gateway costs an enqueue, and what the choice of a region costs.

use std::path::Path;
use std::time::Duration;

use crate::http::{Drive, PATIENCE, Target, drive};
use crate::load::{Enqueue, Tally};
use crate::measurement::Measurement;
use crate::process::Process;
use crate::server_counts::{agree, counts};
use crate::{BenchError, Line, Options, Progress, routing};

/// Direct and through the gateway alternate, so that what the machine does meanwhile affects both.
const ROUNDS: usize = 5;
/// Latency is measured at this part of the rate that the gateway can take, where queues do not hide the time of a
/// request.
const PART: f64 = 0.25;

/// Measures enqueues through a gateway, compared with enqueues to its region directly; then routing decisions.
pub fn federation(options: &Options, progress: &dyn Progress) -> Result<Vec<Line>, BenchError> {
    let home = tempfile::Builder::new().prefix("rota-bench-").tempdir_in(&options.dir)?;
    let region = Process::serve(options, &home.path().join("region"))?;
    let gateway = Process::federate(options, &describe(home.path(), &region.target)?)?;
    let way = |name, target: &Target| Way {
        name,
        target: target.clone(),
        region: region.target.clone(),
        rounds: Vec::new(),
    };
    let full = [way("enqueue", &region.target), way("enqueue through a gateway", &gateway.target)];
    let full = measure(full, options, None, progress)?;
    let pace = full[1].all().per_second() * PART;
    let steady = [
        way("enqueue, at a quarter of it", &region.target),
        way("enqueue through a gateway, at a quarter of it", &gateway.target),
    ];
    let steady = measure(steady, options, Some(pace), progress)?;
    gateway.stop()?;
    region.stop()?;
    let mut lines = vec![full[0].line(), full[1].line().against("that", full[1].ratio(&full[0]))];
    lines.extend(steady.iter().map(Way::line));
    lines.push(Line::value("added at the median", steady[1].added_ms(&steady[0]), "ms"));
    lines.extend(routing::decisions(options, progress)?);
    Ok(lines)
}

/// Writes the description of a federation of one region.
fn describe(home: &Path, region: &Target) -> Result<std::path::PathBuf, BenchError> {
    let path = home.join("regions.toml");
    let url = format!("http://{}", region.address());
    let text = format!("local_region = \"one\"\n[[regions]]\nid = \"one\"\nurl = \"{url}\"\n");
    std::fs::write(&path, text)?;
    Ok(path)
}

fn measure(
    mut ways: [Way; 2],
    options: &Options,
    pace: Option<f64>,
    progress: &dyn Progress,
) -> Result<[Way; 2], BenchError> {
    for round in 0..ROUNDS {
        for turn in 0..ways.len() {
            ways[(round + turn) % 2].measure(options, pace, progress)?;
        }
    }
    Ok(ways)
}

/// A way to enqueue, and its measurements so far.
struct Way {
    name: &'static str,
    target: Target,
    region: Target,
    rounds: Vec<Measurement>,
}

impl Way {
    fn measure(
        &mut self,
        options: &Options,
        pace: Option<f64>,
        progress: &dyn Progress,
    ) -> Result<(), BenchError> {
        let duration = options.duration / ROUNDS as u32;
        let before = counts(&self.region)?;
        let scripts =
            (0..options.connections).map(|_| Enqueue::one_by_one(options.payload)).collect();
        let how = Drive {
            name: self.name,
            target: &self.target,
            warm_up: (duration / 4).min(Duration::from_secs(1)),
            duration,
            pace: pace.map(|rate| (options.connections, rate)),
            patience: PATIENCE,
            progress,
        };
        let (measured, scripts) = drive(&how, scripts)?;
        agree(&self.region, before, scripts.iter().map(Tally::enqueued).sum(), 0)?;
        self.rounds.push(measured);
        Ok(())
    }

    fn all(&self) -> Measurement {
        let mut all = Measurement::new();
        self.rounds.iter().for_each(|round| all.add(round));
        all
    }

    fn line(&self) -> Line {
        Line::rate(self.name, &self.all(), 0)
    }

    /// The median of the ratios to the other way in the same round.
    fn ratio(&self, other: &Self) -> f64 {
        median(self.rounds.iter().zip(&other.rounds).map(|(a, b)| a.per_second() / b.per_second()))
    }

    /// The median over the rounds of what the median request took longer than the other way.
    fn added_ms(&self, other: &Self) -> f64 {
        let p50 = |round: &Measurement| round.times(0).map_or(0.0, |times| times.p50_ms);
        median(self.rounds.iter().zip(&other.rounds).map(|(a, b)| p50(a) - p50(b)))
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
