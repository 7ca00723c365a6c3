//! Measures a tenant with finished jobs of very many types.

use std::time::Instant;

use rota_engine::{Command, Fetch, Reply, TenantChange};
use rota_model::{TenantConfig, Weight};

use super::load::{Bench, Load, Step, class, tenant};
use crate::engine_driver::EngineDriver;
use crate::{BenchError, Line};

const QUEUE: &str = "bench";
const FEW: usize = 10;
const CHUNK: usize = 1_000;

/// Measures the tenant's next jobs, and a change of its configuration.
pub(super) fn of_one_tenant(bench: &Bench<'_>, many: usize) -> Result<Vec<Line>, BenchError> {
    let of = format!("{FEW} finished classes");
    let name = format!("enqueue and start with {many} finished classes");
    let mut small = next_jobs(with_finished(bench, FEW)?);
    let mut large = next_jobs(with_finished(bench, many)?);
    let jobs = bench.compare(&name, &of, &mut small, &mut large)?;
    let name = format!("change of a tenant with {many} finished classes");
    let (mut small, mut large) = (changes(small.driver), changes(large.driver));
    Ok(vec![jobs, bench.compare(&name, &of, &mut small, &mut large)?])
}

fn with_finished(bench: &Bench<'_>, count: usize) -> Result<EngineDriver, BenchError> {
    let mut driver = EngineDriver::new();
    let queue = class(QUEUE, "bench.job", None).queue;
    for first in (0..count).step_by(CHUNK) {
        bench.show("filling, finished classes", first as f64 / count as f64)?;
        let size = CHUNK.min(count - first);
        let kinds = first..first + size;
        let classes: Vec<usize> =
            kinds.map(|n| driver.add_class(class(QUEUE, &format!("type-{n}"), None))).collect();
        driver.enqueue(&classes)?;
        let claimed = driver.fetch(Fetch::of(vec![queue.clone()], size), size)?;
        driver.ack(claimed)?;
    }
    Ok(driver)
}

/// Jobs of a type that the tenant has not had yet.
fn next_jobs(mut driver: EngineDriver) -> Load {
    let class = class(QUEUE, "next", None);
    let queue = class.queue.clone();
    let next = driver.add_class(class);
    let step = move |driver: &mut EngineDriver| {
        let begin = Instant::now();
        driver.enqueue(&[next])?;
        let claimed = driver.fetch(Fetch::of(vec![queue.clone()], 1), 1)?;
        driver.ack(claimed)?;
        Ok(Step { operations: 1, time: begin.elapsed() })
    };
    Load { driver, step: Box::new(step) }
}

fn changes(driver: EngineDriver) -> Load {
    let mut weight = 1.0;
    let step = move |driver: &mut EngineDriver| {
        weight = 3.0 - weight;
        let config = TenantConfig { weight: Weight::new(weight), ..TenantConfig::default() };
        let change = TenantChange { config, what: "bench", reason: None };
        driver.tick()?;
        let begin = Instant::now();
        let reply = driver.apply(Command::PutTenant(tenant("bench"), change))?;
        let time = begin.elapsed();
        match reply {
            Reply::Tenant { tenant, .. } if Some(tenant.weight) == Weight::new(weight) => {
                Ok(Step { operations: 1, time })
            }
            other => Err(BenchError::wrong(format!("tenant: {other:?}"))),
        }
    };
    Load { driver, step: Box::new(step) }
}
