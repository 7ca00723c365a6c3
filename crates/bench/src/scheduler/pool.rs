//! Measures a pool whose queues all have a backlog.

use rota_engine::{Command, Fetch, Reply};
use rota_model::{PoolConfig, PoolName, QueueStrategy};

use super::load::{Bench, Load, class, start};
use crate::engine_driver::EngineDriver;
use crate::{BenchError, Line};

const FEW: usize = 2;
/// Jobs in a fetch.
const COUNT: usize = 50;
/// Jobs that wait in all queues together, for each queue of the large pool.
const EACH: usize = 50;

/// Fetches of 50 jobs by each strategy, against a pool of two queues with as many jobs.
pub(super) fn backlogged_queues(bench: &Bench<'_>, queues: usize) -> Result<Vec<Line>, BenchError> {
    let compare = |strategy: QueueStrategy| {
        let name = format!("start from a pool of {queues} queues, {}", strategy.as_str());
        let mut few = load(bench, strategy, FEW, queues * EACH)?;
        let mut many = load(bench, strategy, queues, queues * EACH)?;
        bench.compare(&name, &format!("{FEW} queues"), &mut few, &mut many)
    };
    QueueStrategy::ALL.into_iter().map(compare).collect()
}

fn load(
    bench: &Bench<'_>,
    strategy: QueueStrategy,
    queues: usize,
    jobs: usize,
) -> Result<Load, BenchError> {
    let mut driver = EngineDriver::new();
    for n in 0..queues {
        driver.add_class(class(&format!("queue-{n}"), "bench.job", None));
    }
    let classes: Vec<usize> = (0..jobs).map(|n| n % queues).collect();
    bench.fill(&mut driver, &classes, "queues of a pool")?;
    let pool = PoolName::parse("bench").expect("the name is valid");
    let config = PoolConfig {
        queues: (0..queues).map(|n| driver.class(n).queue.clone()).collect(),
        concurrency: None,
        strategy,
        weights: Default::default(),
        isolated: false,
        starvation: None,
        fairness_scope: None,
        tenants: None,
        fair: false,
    };
    match driver.apply(Command::PutPool(pool.clone(), Box::new(config)))? {
        Reply::Pool { .. } => {}
        other => return Err(BenchError::wrong(format!("pool: {other:?}"))),
    }
    let fetch = move || Fetch { pool: Some(pool.clone()), ..Fetch::of(Vec::new(), COUNT) };
    let step = move |driver: &mut EngineDriver| Ok(start(driver, fetch(), COUNT)?.0);
    Ok(Load { driver, step: Box::new(step) })
}
