//! Measures enqueues to a queue where fetches of other tenants wait.

use std::time::Instant;

use rota_engine::{Command, Fetch, Reply, WaiterId};

use super::load::{Bench, Load, Step, class, tenant};
use crate::engine_driver::EngineDriver;
use crate::{BenchError, Line};

const QUEUE: &str = "bench";
/// Longer than any measurement, in the engine's own time.
const WAIT_MS: u64 = 24 * 3_600_000;

/// Batches of as many jobs as there are fetches, each for a tenant that has no jobs, against batches
/// that no fetch waits for.
pub(super) fn enqueue_beside_them(bench: &Bench<'_>, fetches: usize) -> Result<Line, BenchError> {
    let load = |count: usize| {
        let mut driver = EngineDriver::new();
        let class = class(QUEUE, "bench.job", None);
        let queue = class.queue.clone();
        let index = driver.add_class(class);
        for n in 0..count {
            bench.show("waiting fetches", n as f64 / count as f64)?;
            let fetch = Fetch {
                tenant: Some(tenant(&format!("idle-{n}"))),
                wait: Some((WaiterId(n as u64), WAIT_MS)),
                ..Fetch::of(vec![queue.clone()], 1)
            };
            match driver.apply(Command::Fetch(fetch))? {
                Reply::Waiting => {}
                other => return Err(BenchError::wrong(format!("fetch: {other:?}"))),
            }
        }
        let batch = vec![index; fetches];
        let step = move |driver: &mut EngineDriver| {
            let begin = Instant::now();
            driver.enqueue(&batch)?;
            let time = begin.elapsed();
            let all = driver.fetch(Fetch::of(vec![queue.clone()], batch.len()), batch.len())?;
            driver.ack(all)?;
            Ok(Step { operations: batch.len(), time })
        };
        Ok(Load { driver, step: Box::new(step) })
    };
    let name = format!("enqueue in a batch of {fetches} beside {fetches} waiting fetches");
    bench.compare(&name, "none waiting", &mut load(0)?, &mut load(fetches)?)
}
