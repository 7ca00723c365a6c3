//! Measures latency at half of the maximum throughput.

use std::time::{Duration, Instant};

use crate::http::{Drive, PATIENCE, drive};
use crate::load::{Echo, Part, Producer, Receiver, job};
use crate::measurement::{Measurement, histogram, percentiles};
use crate::process::Process;
use crate::server_counts::{agree, counts};
use crate::{BenchError, Line, Options, Percentiles, Progress};

/// Measures the time of an enqueue, and from there until a waiting worker has the job, at half the rate
/// at which the server can both accept and deliver jobs.
pub fn latency(options: &Options, progress: &dyn Progress) -> Result<Vec<Line>, BenchError> {
    let most = run(options, progress, "the most", options.duration / 2, None)?;
    let rate = most.measured.per_second().min(most.handled_per_second) / 2.0;
    let half = run(options, progress, "half of it", options.duration, Some(rate))?;
    let echo = echo(options, progress, rate)?;
    Ok(vec![
        Line::value("the most, enqueue to ack", rate * 2.0, "per second"),
        Line::rate("bare echo at half of it", &echo, 0),
        Line::rate("enqueue at half of it", &half.measured, Part::ENQUEUE),
        Line::value("from enqueue to a waiting worker", half.handled_per_second, "per second")
            .times(Some(half.receipts)),
    ])
}

/// Measures the latency of an echo server on the same machine.
fn echo(options: &Options, progress: &dyn Progress, rate: f64) -> Result<Measurement, BenchError> {
    let server = Process::echo(options)?;
    let connections = options.connections;
    let how = Drive {
        name: "bare echo at half of it",
        target: &server.target,
        warm_up: options.warm_up(),
        duration: options.duration,
        pace: Some((connections, rate)),
        patience: PATIENCE,
        progress,
    };
    let scripts = (0..connections).map(|_| Echo { body: job(options.payload) }).collect();
    Ok(drive(&how, scripts)?.0)
}

struct Outcome {
    measured: Measurement,
    handled_per_second: f64,
    receipts: Percentiles,
}

/// Starts a server for each run, so that the backlog of one does not affect the next.
fn run(
    options: &Options,
    progress: &dyn Progress,
    name: &str,
    duration: Duration,
    rate: Option<f64>,
) -> Result<Outcome, BenchError> {
    let home = tempfile::Builder::new().prefix("rota-bench-").tempdir_in(&options.dir)?;
    let server = Process::serve(options, &home.path().join("data"))?;
    let before = counts(&server.target)?;
    let producers = options.connections;
    let (start, warm_up) = (Instant::now(), options.warm_up());
    let mut scripts: Vec<Part> =
        (0..producers).map(|_| Part::Producer(Producer::new(start, options.payload))).collect();
    let receivers = options.batch_connections() * 2;
    // Receivers also wait for late jobs; but at full speed, draining the backlog would take too long.
    let drains = rate.is_some();
    let receiver = |n| Part::Receiver(Receiver::new(start, start + warm_up, drains, n));
    scripts.extend((0..receivers).map(receiver));
    let how = Drive {
        name,
        target: &server.target,
        warm_up,
        duration,
        pace: rate.map(|rate| (producers, rate)),
        patience: PATIENCE,
        progress,
    };
    let (mut measured, scripts) = drive(&how, scripts)?;
    // The last fetches time out without jobs; that time does not count.
    measured.seconds = measured.seconds.min(duration.as_secs_f64());
    let (mut accepted, mut handled, mut times) = (0, 0, histogram());
    for script in &scripts {
        match script {
            Part::Producer(producer) => accepted += producer.accepted,
            Part::Receiver(receiver) => {
                handled += receiver.handled;
                times.add(&receiver.times).expect("all have the same bounds");
            }
        }
    }
    agree(&server.target, before, accepted, handled)?;
    server.stop()?;
    // Without receipts there is no rate to halve and there are no times to report.
    if times.is_empty() {
        return Err(BenchError::TooShort("from enqueue to a waiting worker".into()));
    }
    let whole = (warm_up + duration).as_secs_f64();
    let handled_per_second = handled as f64 / whole;
    Ok(Outcome { measured, handled_per_second, receipts: percentiles(&times) })
}
