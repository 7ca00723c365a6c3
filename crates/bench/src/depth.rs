//! Measures how the number of waiting jobs affects fetches, memory and restarts.

use std::time::Instant;

use crate::http::{Drive, drive};
use crate::load::{Enqueue, Tally, Worker};
use crate::process::Process;
use crate::server_counts::{agree, counts, get};
use crate::{BenchError, Line, Options, Percentiles, Progress};

const SHALLOW: u64 = 1_000;
/// Fetches are timed one after another on one connection, so that only the depth differs.
const FETCHES: u64 = 500;
/// Maximum number of jobs, and approximate number of bytes, in a request that fills the queue.
const BATCH: u64 = 500;
const BATCH_BYTES: u64 = 1 << 20;

/// Measures with `jobs` waiting jobs, compared with 1,000.
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
    let rest = jobs - jobs / 2;
    bench.fill(&server, rest, "filling the second half")?;
    let full = server.memory();
    // Warm the caches for reading the oldest bodies.
    bench.fetches(&server, "warming up")?;
    let deep = bench.fetches(&server, "fetch, many waiting")?;
    let waiting = counts(&server.target)?.available;
    server.stop()?;

    let start = Instant::now();
    let server = Process::serve(options, &data)?;
    if get(&server.target, "/ojs/v1/health")?.0 != 200 {
        return Err(BenchError::wrong("the server is not healthy after its restart"));
    }
    let restart = start.elapsed().as_secs_f64();
    let found = counts(&server.target)?.available;
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
        let each = full.saturating_sub(half) as f64 / rest as f64;
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
        let before = counts(&server.target)?;
        let Options { payload, .. } = *self.options;
        let scripts = shares(jobs, self.options.batch_connections() as u64, payload)
            .into_iter()
            .map(|(size, requests)| Enqueue::in_batches(payload, size as usize, requests))
            .collect();
        drive(&self.how(server, name), scripts)?;
        agree(&server.target, before, jobs, 0)
    }

    fn fetches(&self, server: &Process, name: &str) -> Result<Percentiles, BenchError> {
        let before = counts(&server.target)?;
        let how = self.how(server, name);
        let (measured, scripts) = drive(&how, vec![Worker::new(0, 1, FETCHES)])?;
        agree(&server.target, before, 0, scripts[0].handled())?;
        measured.times(Worker::FETCH).ok_or_else(|| BenchError::wrong("nothing was fetched"))
    }

    fn how<'a>(&'a self, server: &'a Process, name: &'a str) -> Drive<'a> {
        Drive::to_the_end(name, &server.target, self.progress)
    }
}

/// Divides the jobs among connections: the size and number of the batches of each. The remainder is one
/// more batch.
fn shares(jobs: u64, connections: u64, payload: usize) -> Vec<(u64, u64)> {
    let size = (BATCH_BYTES / (payload as u64 + 100)).clamp(1, BATCH);
    let (requests, rest) = (jobs / size, jobs % size);
    let each = |n| requests / connections + u64::from(n < requests % connections);
    let mut shares: Vec<_> = (0..connections).map(|n| (size, each(n))).collect();
    shares.push((rest, u64::from(rest > 0)));
    shares.retain(|(_, requests)| *requests > 0);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_jobs_as_were_asked_for_are_filled_in() {
        for jobs in [1, 499, 500, 1_000, 5_000, 12_345] {
            for (connections, payload) in [(1, 0), (8, 200), (1250, 100_000)] {
                let shares = shares(jobs, connections, payload);
                let all: u64 = shares.iter().map(|(size, requests)| size * requests).sum();
                assert_eq!(all, jobs, "{connections} connections, {payload} bytes");
            }
        }
    }
}
