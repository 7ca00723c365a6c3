//! How many a second over HTTP, next to a bare echo of the same bodies.

use std::net::SocketAddr;
use std::time::Duration;

use crate::check::{Counts, agree, counts};
use crate::http::{Drive, PATIENCE, Script, drive};
use crate::load::{Cycle, Echo, Enqueue, Handling, job};
use crate::measured::Measured;
use crate::process::Process;
use crate::{BenchError, Line, Options, Progress};

/// Baseline and server take turns, so that a machine which slows down meanwhile slows both.
const ROUNDS: u32 = 3;

/// Enqueue, fetch and ack, one by one and in batches.
pub fn rates(options: &Options, progress: &dyn Progress) -> Result<Vec<Line>, BenchError> {
    if let Some(given) = options.server {
        return rates_of(given, options, progress);
    }
    let home = tempfile::Builder::new().prefix("rota-bench-").tempdir_in(&options.dir)?;
    let own = Process::serve(options, &home.path().join("data"))?;
    let lines = rates_of(own.address, options, progress)?;
    own.stop()?;
    Ok(lines)
}

fn rates_of(
    address: SocketAddr,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<Line>, BenchError> {
    let start = counts(address)?;
    let echo = Process::echo(options)?;
    Bench { options, progress, address, echo: echo.address, start }.run()
}

struct Bench<'a> {
    options: &'a Options,
    progress: &'a dyn Progress,
    address: SocketAddr,
    echo: SocketAddr,
    start: Counts,
}

impl Bench<'_> {
    fn run(&self) -> Result<Vec<Line>, BenchError> {
        let (mut lines, mut enqueued, mut handled) = (Vec::new(), 0, 0);
        let Options { connections, payload, batch, duration, .. } = *self.options;
        let few = self.options.batch_connections();

        // First, while nothing waits: a job is fetched soon after it came, as in ordinary days.
        let name = format!("full cycles, {batch} in a request");
        let scripts = (0..few).map(|n| Cycle::new(n, payload, batch)).collect();
        let (measured, scripts) = self.drive(&name, self.address, duration, scripts)?;
        enqueued += scripts.iter().map(|script| script.enqueued).sum::<u64>();
        handled += scripts.iter().map(|script| script.handled).sum::<u64>();
        agree(self.address, self.start, enqueued, handled)?;
        lines.push(Line::rate(&name, &measured, 0).times(None));

        let echo_of = |body: String| move || Echo { body: body.clone() };
        let (mut echoes, mut singles) = (Measured::new(), Measured::new());
        let turn = duration / ROUNDS;
        for _ in 0..ROUNDS {
            let scripts = many(connections, echo_of(job(payload)));
            echoes.add(self.drive("bare echo", self.echo, turn, scripts)?.0);
            let scripts = many(connections, || Enqueue::one_by_one(payload));
            let (measured, scripts) = self.drive("enqueue", self.address, turn, scripts)?;
            singles.add(measured);
            enqueued += scripts.iter().map(|script| script.accepted).sum::<u64>();
            agree(self.address, self.start, enqueued, handled)?;
        }
        let base = echoes.per_second();
        lines.push(Line::rate("bare echo", &echoes, 0));
        let ratio = singles.per_second() / base;
        lines.push(Line::rate("enqueue", &singles, 0).against("the echo", ratio));

        let workers = (0..connections).map(|n| Handling::new(n, 1, u64::MAX)).collect();
        let (measured, scripts) = self.drive("fetch and ack", self.address, duration, workers)?;
        handled += scripts.iter().map(|script| script.handled).sum::<u64>();
        agree(self.address, self.start, enqueued, handled)?;
        // Two requests each.
        let ratio = 2.0 * measured.per_second() / base;
        let fetch = measured.times(Handling::FETCH);
        let line = Line::rate("fetch and ack", &measured, Handling::ACK).times(None);
        lines.push(line.against("the echo", ratio));
        lines.push(Line::value("  fetch", measured.per_second(), "per second").times(fetch));
        let ack = measured.times(Handling::ACK);
        lines.push(Line::value("  ack", measured.per_second(), "per second").times(ack));

        let all = format!(r#"{{"jobs":[{}]}}"#, vec![job(payload); batch].join(","));
        let name = format!("bare echo of {batch} jobs");
        let (echoes, _) = self.drive(&name, self.echo, turn, many(few, echo_of(all)))?;
        let base = echoes.per_second() * batch as f64;
        lines.push(Line { value: base, ..Line::rate(&name, &echoes, 0) });

        let name = format!("enqueue, {batch} in a request");
        let scripts = many(few, || Enqueue::in_batches(payload, batch, u64::MAX));
        let (measured, scripts) = self.drive(&name, self.address, duration, scripts)?;
        enqueued += scripts.iter().map(|script| script.accepted).sum::<u64>();
        agree(self.address, self.start, enqueued, handled)?;
        let ratio = measured.per_second() / base;
        lines.push(Line::rate(&name, &measured, 0).against("its echo", ratio));

        let name = format!("fetch and ack, {batch} in a request");
        let workers = (0..few).map(|n| Handling::new(n, batch, u64::MAX)).collect();
        let (measured, scripts) = self.drive(&name, self.address, duration, workers)?;
        handled += scripts.iter().map(|script| script.handled).sum::<u64>();
        agree(self.address, self.start, enqueued, handled)?;
        lines.push(Line::rate(&name, &measured, Handling::FETCH));

        Ok(lines)
    }

    fn drive<S: Script>(
        &self,
        name: &str,
        address: SocketAddr,
        duration: Duration,
        scripts: Vec<S>,
    ) -> Result<(Measured, Vec<S>), BenchError> {
        let warm_up = self.options.warm_up().min(duration / 4);
        let progress = self.progress;
        let patience = PATIENCE;
        drive(&Drive { name, address, warm_up, duration, pace: None, patience, progress }, scripts)
    }
}

fn many<S>(count: usize, make: impl Fn() -> S) -> Vec<S> {
    (0..count).map(|_| make()).collect()
}
