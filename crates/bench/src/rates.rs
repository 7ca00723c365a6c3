//! Measures throughput over HTTP, compared with an echo of the same bodies.

use std::time::Duration;

use crate::http::{Drive, PATIENCE, Script, Target, drive};
use crate::load::{Cycle, Echo, Enqueue, Tally, Worker, batch_of, job};
use crate::measurement::Measurement;
use crate::process::Process;
use crate::server_counts::{Counts, agree, counts};
use crate::{BenchError, Line, Options, Progress};

/// Number of alternating rounds of baseline and server, so that a machine that slows down affects both.
const ROUNDS: u32 = 3;

/// Measures enqueue, fetch and ack, one by one and in batches.
pub fn rates(options: &Options, progress: &dyn Progress) -> Result<Vec<Line>, BenchError> {
    if let Some(given) = options.server {
        return rates_of(&given.into(), options, progress);
    }
    let home = tempfile::Builder::new().prefix("rota-bench-").tempdir_in(&options.dir)?;
    let own = Process::serve(options, &home.path().join("data"))?;
    let lines = rates_of(&own.target, options, progress)?;
    own.stop()?;
    Ok(lines)
}

fn rates_of(
    target: &Target,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<Line>, BenchError> {
    let start = counts(target)?;
    let echo = Process::echo(options)?;
    let (enqueued, handled) = (0, 0);
    Bench { options, progress, target, echo: &echo.target, start, enqueued, handled }.run()
}

struct Bench<'a> {
    options: &'a Options,
    progress: &'a dyn Progress,
    target: &'a Target,
    echo: &'a Target,
    start: Counts,
    /// Operations on the server so far.
    enqueued: u64,
    handled: u64,
}

impl Bench<'_> {
    fn run(mut self) -> Result<Vec<Line>, BenchError> {
        // First, without a backlog: jobs are fetched soon after they are enqueued, as usual.
        let mut lines = self.cycles()?;
        lines.extend(self.one_by_one()?);
        lines.extend(self.in_batches()?);
        Ok(lines)
    }

    fn cycles(&mut self) -> Result<Vec<Line>, BenchError> {
        let Options { payload, batch, duration, .. } = *self.options;
        let name = format!("full cycles, {batch} in a request");
        let few = self.options.batch_connections();
        let scripts = (0..few).map(|n| Cycle::new(n, payload, batch)).collect();
        let measured = self.serve(&name, duration, scripts)?;
        Ok(vec![Line::rate(&name, &measured, 0).times(None)])
    }

    fn one_by_one(&mut self) -> Result<Vec<Line>, BenchError> {
        let Options { connections, payload, duration, .. } = *self.options;
        let (mut echoes, mut singles) = (Measurement::new(), Measurement::new());
        let turn = duration / ROUNDS;
        for _ in 0..ROUNDS {
            echoes.add(&self.echo("bare echo", connections, &job(payload))?);
            let scripts = many(connections, || Enqueue::one_by_one(payload));
            singles.add(&self.serve("enqueue", turn, scripts)?);
        }
        let workers = (0..connections).map(|n| Worker::new(n, 1, u64::MAX)).collect();
        let handling = self.serve("fetch and ack", duration, workers)?;
        let (base, rate) = (echoes.per_second(), handling.per_second());
        let part = |name, kind| Line::value(name, rate, "per second").times(handling.times(kind));
        Ok(vec![
            Line::rate("bare echo", &echoes, 0),
            Line::rate("enqueue", &singles, 0).against("the echo", singles.per_second() / base),
            // Two requests each.
            Line::value("fetch and ack", rate, "per second").against("the echo", 2.0 * rate / base),
            part("  fetch", Worker::FETCH),
            part("  ack", Worker::ACK),
        ])
    }

    fn in_batches(&mut self) -> Result<Vec<Line>, BenchError> {
        let Options { payload, batch, duration, .. } = *self.options;
        let few = self.options.batch_connections();
        let echo_name = format!("bare echo of {batch} jobs");
        let echoes = self.echo(&echo_name, few, &batch_of(payload, batch))?;
        let base = echoes.per_second() * batch as f64;

        let enqueue_name = format!("enqueue, {batch} in a request");
        let scripts = many(few, || Enqueue::in_batches(payload, batch, u64::MAX));
        let enqueue = self.serve(&enqueue_name, duration, scripts)?;

        let handling_name = format!("fetch and ack, {batch} in a request");
        let workers = (0..few).map(|n| Worker::new(n, batch, u64::MAX)).collect();
        let handling = self.serve(&handling_name, duration, workers)?;
        let ratio = enqueue.per_second() / base;
        Ok(vec![
            Line { value: base, ..Line::rate(&echo_name, &echoes, 0) },
            Line::rate(&enqueue_name, &enqueue, 0).against("its echo", ratio),
            Line::rate(&handling_name, &handling, Worker::FETCH),
        ])
    }

    /// Measures one round of the baseline with this body.
    fn echo(&self, name: &str, connections: usize, body: &str) -> Result<Measurement, BenchError> {
        let scripts = many(connections, || Echo { body: body.to_owned() });
        Ok(self.drive(name, self.echo, self.options.duration / ROUNDS, scripts)?.0)
    }

    /// Measures one round of the server, and checks its counts.
    fn serve<S: Script + Tally>(
        &mut self,
        name: &str,
        duration: Duration,
        scripts: Vec<S>,
    ) -> Result<Measurement, BenchError> {
        let (measured, scripts) = self.drive(name, self.target, duration, scripts)?;
        self.enqueued += scripts.iter().map(Tally::enqueued).sum::<u64>();
        self.handled += scripts.iter().map(Tally::handled).sum::<u64>();
        agree(self.target, self.start, self.enqueued, self.handled)?;
        Ok(measured)
    }

    fn drive<S: Script>(
        &self,
        name: &str,
        target: &Target,
        duration: Duration,
        scripts: Vec<S>,
    ) -> Result<(Measurement, Vec<S>), BenchError> {
        let warm_up = self.options.warm_up().min(duration / 4);
        let progress = self.progress;
        let patience = PATIENCE;
        drive(&Drive { name, target, warm_up, duration, pace: None, patience, progress }, scripts)
    }
}

fn many<S>(count: usize, make: impl Fn() -> S) -> Vec<S> {
    (0..count).map(|_| make()).collect()
}
