//! Measures jobs that wait for one limit key: of many types, in many queues, and with many sets of numbers.

use std::time::Instant;

use rota_engine::{Command, Fetch, PutLimit, Reply};
use rota_model::{LimitKey, LimitNumbers, OnLimit, QueueName, Rate, RateLimit, Scope};

use super::load::{Bench, Load, Step, class, start};
use crate::engine_driver::EngineDriver;
use crate::{BenchError, Line};

const QUEUE: &str = "bench";
/// The small size of loads for which 1 would be meaningless.
const FEW: usize = 10;
/// Fetches in other queues while a job runs.
const POLLS: usize = 9;

/// Job types that wait for a key of concurrency 1, against one type with as many jobs.
pub(super) fn types_at_one_key(bench: &Bench<'_>, types: usize) -> Result<Line, BenchError> {
    let load = |count: usize| {
        let mut driver = EngineDriver::new();
        for n in 0..count {
            let limit = shared_key(one_at_once());
            driver.add_class(class(QUEUE, &format!("type-{n}"), Some(limit)));
        }
        fill_evenly(bench, driver, types, "types at one key")
    };
    let name = format!("start with {types} types at one key");
    bench.compare(&name, "one type", &mut contended(load(1)?), &mut contended(load(types)?))
}

/// Lanes that share a key. One starts its jobs; each of the others waits for a second limit, that of its
/// type, which is closed.
pub(super) fn lanes_at_a_second_limit(bench: &Bench<'_>, lanes: usize) -> Result<Line, BenchError> {
    let load = |count: usize| {
        let mut driver = EngineDriver::new();
        for n in 1..count {
            let closed = class(QUEUE, &format!("closed-{n}"), Some(shared_key(one_at_once())));
            close_type(&mut driver, &closed)?;
            driver.add_class(closed);
        }
        let mut driver = fill_evenly(bench, driver, count - 1, "lanes at a second limit")?;
        let free = driver.add_class(class(QUEUE, "free", Some(shared_key(one_at_once()))));
        driver.enqueue(&[free; FEW])?;
        Ok::<_, BenchError>(driver)
    };
    let free_starts = |driver: EngineDriver| {
        let free = driver.classes() - 1;
        let step = move |driver: &mut EngineDriver| {
            let (step, classes) = start(driver, Fetch::of(vec![queue(QUEUE)], 2), 1)?;
            if classes != [free] {
                return Err(BenchError::wrong("a job started although its type may not"));
            }
            Ok(step)
        };
        Load { driver, step: Box::new(step) }
    };
    let name = format!("start with {lanes} lanes at a second limit");
    let of = format!("{FEW} lanes");
    bench.compare(&name, &of, &mut free_starts(load(FEW)?), &mut free_starts(load(lanes)?))
}

/// Queues whose jobs wait for a key of concurrency 1, against one queue with as many jobs. While a job
/// runs, workers of other queues ask and get nothing.
pub(super) fn queues_at_one_key(bench: &Bench<'_>, queues: usize) -> Result<Line, BenchError> {
    let load = |count: usize| {
        let mut driver = EngineDriver::new();
        for n in 0..count {
            let limit = shared_key(one_at_once());
            driver.add_class(class(&format!("queue-{n}"), "bench.job", Some(limit)));
        }
        let driver = fill_evenly(bench, driver, queues * 2, "queues at one key")?;
        let mut next = 0;
        let step = move |driver: &mut EngineDriver| {
            let queue = next;
            next = (next + 1) % count;
            start_in_queue(driver, queue, count)
        };
        Ok::<_, BenchError>(Load { driver, step: Box::new(step) })
    };
    let name = format!("start with {queues} queues at one key");
    bench.compare(&name, "one queue", &mut load(1)?, &mut load(queues)?)
}

/// Starts a job in the queue with this index, of `queues` queues. Each has one class with the same index.
fn start_in_queue(
    driver: &mut EngineDriver,
    queue: usize,
    queues: usize,
) -> Result<Step, BenchError> {
    let from = |driver: &EngineDriver, n: usize| Fetch::of(vec![driver.class(n).queue.clone()], 1);
    let begin = Instant::now();
    let claimed = driver.fetch(from(driver, queue), 1)?;
    for n in 1..=POLLS {
        driver.fetch(from(driver, (queue + n) % queues), 0)?;
    }
    let classes = driver.ack(claimed)?;
    let time = begin.elapsed();
    if classes != [queue] {
        return Err(BenchError::wrong("a job of another queue was handed out"));
    }
    driver.enqueue(&classes)?;
    Ok(Step { operations: 1, time })
}

/// Jobs of one key with different numbers, of which the concurrency of 1 holds them, against one set of
/// numbers with as many jobs.
pub(super) fn sets_of_numbers(bench: &Bench<'_>, sets: usize) -> Result<Line, BenchError> {
    let load = |count: usize| {
        let mut driver = EngineDriver::new();
        for n in 0..count {
            let rate = Rate { limit: 1_000_000 + n as u32, period_ms: 1_000 };
            let numbers = LimitNumbers { rate: Some(rate), ..one_at_once() };
            driver.add_class(class(QUEUE, "bench.job", Some(shared_key(numbers))));
        }
        fill_evenly(bench, driver, sets, "sets of numbers")
    };
    let name = format!("start with {sets} sets of numbers at one key");
    bench.compare(&name, "one set", &mut contended(load(1)?), &mut contended(load(sets)?))
}

/// Starts the one job that the key lets start: the fetch asks for two.
fn contended(driver: EngineDriver) -> Load {
    let fetch = || Fetch::of(vec![queue(QUEUE)], 2);
    Load { driver, step: Box::new(move |driver| Ok(start(driver, fetch(), 1)?.0)) }
}

/// Enqueues this many jobs, alternating between the classes.
fn fill_evenly(
    bench: &Bench<'_>,
    mut driver: EngineDriver,
    jobs: usize,
    name: &str,
) -> Result<EngineDriver, BenchError> {
    let classes: Vec<usize> = (0..jobs).map(|n| n % driver.classes()).collect();
    bench.fill(&mut driver, &classes, name)?;
    Ok(driver)
}

/// Declares that no job of this type may start.
fn close_type(driver: &mut EngineDriver, class: &rota_model::Class) -> Result<(), BenchError> {
    let numbers = LimitNumbers { concurrency: Some(0), ..LimitNumbers::default() };
    let put = PutLimit {
        key: LimitKey::of_type(&class.kind),
        tenant: None,
        numbers: Some((numbers.into(), None)),
        feedback: None,
        paused_until: None,
        reason: None,
    };
    match driver.apply(Command::PutLimit(Box::new(put)))? {
        Reply::Limit(_) => Ok(()),
        other => Err(BenchError::wrong(format!("limit: {other:?}"))),
    }
}

fn shared_key(numbers: LimitNumbers) -> RateLimit {
    let key = LimitKey::parse("shared").expect("the key is valid");
    RateLimit { key, numbers, on_limit: OnLimit::Wait, scope: Scope::Global }
}

fn one_at_once() -> LimitNumbers {
    LimitNumbers { concurrency: Some(1), ..LimitNumbers::default() }
}

fn queue(name: &str) -> QueueName {
    QueueName::parse(name).expect("the name is valid")
}
