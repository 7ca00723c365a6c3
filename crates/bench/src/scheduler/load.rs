//! Measures a load at two sizes in alternating rounds.

use std::time::{Duration, Instant};

use rota_engine::Fetch;
use rota_model::{Class, JobType, Policy, QueueName, RateLimit, TenantId};

use crate::engine_driver::EngineDriver;
use crate::{BenchError, Line, Options, Progress};

/// Number of alternating rounds, so that a machine that slows down affects both sizes.
const ROUNDS: usize = 7;
/// Jobs per enqueue when a load is prepared.
const CHUNK: usize = 100;

/// A prepared engine and the step that is measured repeatedly.
pub(super) struct Load {
    pub driver: EngineDriver,
    pub step: Box<Measure>,
}

type Measure = dyn FnMut(&mut EngineDriver) -> Result<Step, BenchError>;

/// The number of operations of a step and their duration, without untimed work such as enqueueing new
/// jobs.
pub(super) struct Step {
    pub operations: usize,
    pub time: Duration,
}

pub(super) struct Bench<'a> {
    /// Duration of a round.
    round: Duration,
    progress: &'a dyn Progress,
}

impl<'a> Bench<'a> {
    pub fn new(options: &Options, progress: &'a dyn Progress) -> Self {
        Self { round: options.duration / 50, progress }
    }

    /// The mean time of an operation under the load `many`: the median of the rounds, against the load
    /// `few`, which is described by `of`.
    pub fn compare(
        &self,
        name: &str,
        of: &str,
        few: &mut Load,
        many: &mut Load,
    ) -> Result<Line, BenchError> {
        let (mut fews, mut manys) = (Vec::new(), Vec::new());
        self.round(few)?;
        self.round(many)?;
        for round in 0..ROUNDS {
            self.progress.show(name, round as f64 / ROUNDS as f64, 0.0)?;
            fews.push(self.round(few)?);
            manys.push(self.round(many)?);
        }
        let (few, many) = (median(&mut fews), median(&mut manys));
        let line = Line::value(&format!("engine alone, {name}"), many, "µs");
        Ok(line.against(&format!("{of}, {few:.2} µs"), many / few))
    }

    /// Microseconds per operation.
    fn round(&self, load: &mut Load) -> Result<f64, BenchError> {
        let start = Instant::now();
        let (mut operations, mut time) = (0, Duration::ZERO);
        while operations == 0 || start.elapsed() < self.round {
            let step = (load.step)(&mut load.driver)?;
            operations += step.operations;
            time += step.time;
        }
        Ok(time.as_secs_f64() * 1e6 / operations as f64)
    }

    /// Enqueues a job of each of these classes, a chunk at a time.
    pub fn fill(
        &self,
        driver: &mut EngineDriver,
        classes: &[usize],
        name: &str,
    ) -> Result<(), BenchError> {
        for (n, chunk) in classes.chunks(CHUNK).enumerate() {
            let part = (n * CHUNK) as f64 / classes.len() as f64;
            self.progress.show(&format!("filling, {name}"), part, 0.0)?;
            driver.enqueue(chunk)?;
        }
        Ok(())
    }

    /// Reports the progress of preparations.
    pub fn show(&self, name: &str, part: f64) -> Result<(), BenchError> {
        self.progress.show(name, part, 0.0)
    }
}

/// Fetches, which must hand out `starts` jobs, and acknowledges them. Their classes, which are returned,
/// get new jobs then; that is not timed.
pub(super) fn start(
    driver: &mut EngineDriver,
    fetch: Fetch,
    starts: usize,
) -> Result<(Step, Vec<usize>), BenchError> {
    let begin = Instant::now();
    let claimed = driver.fetch(fetch, starts)?;
    let classes = driver.ack(claimed)?;
    let time = begin.elapsed();
    driver.enqueue(&classes)?;
    Ok((Step { operations: starts, time }, classes))
}

/// Jobs of this type in the queue, of the tenant `bench`.
pub(super) fn class(queue: &str, kind: &str, limit: Option<RateLimit>) -> Class {
    Class {
        queue: QueueName::parse(queue).expect("the name is valid"),
        kind: JobType::parse(kind).expect("the type is valid"),
        tenant: tenant("bench"),
        priority: 0,
        policy: Policy { limit, ..Policy::default() }.into(),
    }
}

pub(super) fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).expect("the name is valid")
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
