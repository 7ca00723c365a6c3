//! Whether a deep backlog costs anything: a fetch, memory, a restart.

use std::time::{Duration, Instant};

use crate::check::{agree, counts, get};
use crate::http::{Drive, drive};
use crate::load::{Enqueue, Handling};
use crate::process::Process;
use crate::{BenchError, Line, Options, Percentiles, Progress};

const SHALLOW: u64 = 1_000;
/// Fetches are timed one after the other, on one connection, so that nothing but depth differs.
const FETCHES: u64 = 500;

/// With so many jobs waiting, against a thousand.
pub fn depth(
    options: &Options,
    jobs: u64,
    progress: &dyn Progress,
) -> Result<Vec<Line>, BenchError> {
    let home = tempfile::Builder::new().prefix("rota-bench-").tempdir_in(&options.dir)?;
    let data = home.path().join("data");
    let server = Process::serve(options, &data)?;
    let bench = Bench { options, progress };

    bench.fill(&server, SHALLOW, "filling")?;
    let shallow = bench.fetches(&server, "fetch, few waiting")?;
    bench.fill(&server, jobs / 2, "filling the first half")?;
    let half = server.memory();
    bench.fill(&server, jobs / 2, "filling the second half")?;
    let full = server.memory();
    // Both ways of reading the oldest bodies from the disk are warm.
    bench.fetches(&server, "warming up")?;
    let deep = bench.fetches(&server, "fetch, many waiting")?;
    let waiting = counts(server.address)?.available;
    server.stop()?;

    let start = Instant::now();
    let server = Process::serve(options, &data)?;
    if get(server.address, "/ojs/v1/health")?.0 != 200 {
        return Err(BenchError::wrong("the server is not healthy after its restart"));
    }
    let restart = start.elapsed().as_secs_f64();
    let found = counts(server.address)?.available;
    if found != waiting {
        return Err(BenchError::wrong(format!("{waiting} jobs waited, {found} came back")));
    }
    server.stop()?;

    let ratio = deep.p50_ms / shallow.p50_ms;
    let mut lines = vec![
        Line::value("fetch with 1,000 waiting, median", shallow.p50_ms, "ms").times(Some(shallow)),
        Line::value(&format!("fetch with {waiting} waiting, median"), deep.p50_ms, "ms")
            .times(Some(deep))
            .against("that with 1,000", ratio),
        Line::value(&format!("restart with {found} waiting"), restart, "s"),
    ];
    if let (Some(half), Some(full)) = (half, full) {
        let each = (full.saturating_sub(half)) as f64 / (jobs / 2).max(1) as f64;
        lines.push(Line::value("memory for each further waiting job", each, "bytes"));
    }
    Ok(lines)
}

struct Bench<'a> {
    options: &'a Options,
    progress: &'a dyn Progress,
}

impl Bench<'_> {
    fn fill(&self, server: &Process, jobs: u64, name: &str) -> Result<(), BenchError> {
        const BATCH: u64 = 500;
        let before = counts(server.address)?;
        let connections = self.options.batch_connections() as u64;
        let each = jobs / connections;
        let mut scripts = Vec::new();
        for n in 0..connections {
            let share = if n == 0 { each + jobs % connections } else { each };
            let size = BATCH.min(share.max(1));
            let requests = share / size;
            scripts.push(Enqueue::in_batches(self.options.payload, size as usize, requests));
        }
        let (_, scripts) = drive(&self.how(server, name), scripts)?;
        let accepted = scripts.iter().map(|script| script.accepted).sum();
        agree(server.address, before, accepted, 0)
    }

    fn fetches(&self, server: &Process, name: &str) -> Result<Percentiles, BenchError> {
        let before = counts(server.address)?;
        let how = self.how(server, name);
        let (measured, scripts) = drive(&how, vec![Handling::new(0, 1, FETCHES)])?;
        agree(server.address, before, 0, scripts[0].handled)?;
        measured.times(Handling::FETCH).ok_or_else(|| BenchError::wrong("nothing was fetched"))
    }

    fn how<'a>(&'a self, server: &Process, name: &'a str) -> Drive<'a> {
        Drive {
            name,
            address: server.address,
            warm_up: Duration::ZERO,
            // The scripts end by themselves.
            duration: Duration::from_secs(24 * 3600),
            pace: None,
            progress: self.progress,
        }
    }
}
