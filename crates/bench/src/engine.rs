//! Measures the engine alone, without HTTP or disk.

use std::time::Instant;

use rota_engine::Fetch;
use rota_model::{Class, JobType, Policy, QueueName, TenantId};

use crate::engine_driver::EngineDriver;
use crate::{BenchError, Line, Options, Progress};

/// Number of tenants; each has its own lane.
const TENANTS: usize = 10_000;
/// Number of jobs waiting at first, and jobs per fetch.
const WAITING: usize = 1_000_000;
const AT_ONCE: usize = 100;

/// Measures enqueues, claims and acknowledgements on one core.
pub fn engine(options: &Options, progress: &dyn Progress) -> Result<Vec<Line>, BenchError> {
    let mut bench = Bench::new();
    let filling = Instant::now();
    let mut waiting = 0;
    while waiting < WAITING {
        progress.show("engine: filling", waiting as f64 / WAITING as f64, 0.0)?;
        waiting += bench.enqueue(10_000)?;
    }
    let enqueued = waiting as f64 / filling.elapsed().as_secs_f64();
    let (mut handled, mut seconds) = (0, 0.0);
    let whole = options.duration.as_secs_f64();
    while seconds < whole {
        progress.show(
            "engine: claim and ack",
            seconds / whole,
            handled as f64 / f64::max(seconds, 0.001),
        )?;
        let start = Instant::now();
        for _ in 0..1000 {
            handled += bench.handle(AT_ONCE)?;
        }
        seconds += start.elapsed().as_secs_f64();
        bench.enqueue(1000 * AT_ONCE)?;
    }
    Ok(vec![
        Line::value("engine alone, enqueue", enqueued, "per second"),
        Line::value("engine alone, claim and ack", handled as f64 / seconds, "per second"),
    ])
}

struct Bench {
    driver: EngineDriver,
    queue: QueueName,
}

impl Bench {
    fn new() -> Self {
        let mut driver = EngineDriver::new();
        for n in 0..TENANTS {
            driver.add_class(Class {
                queue: QueueName::default_queue(),
                kind: JobType::parse("bench.job").expect("the type is valid"),
                tenant: TenantId::parse(&format!("tenant-{n}")).expect("the name is valid"),
                priority: 0,
                policy: Policy::default().into(),
            });
        }
        Self { driver, queue: QueueName::default_queue() }
    }

    fn enqueue(&mut self, count: usize) -> Result<usize, BenchError> {
        for chunk in 0..count / AT_ONCE {
            let classes = (0..AT_ONCE).map(|n| (chunk * AT_ONCE + n) % TENANTS);
            self.driver.enqueue(&classes.collect::<Vec<_>>())?;
        }
        Ok(count)
    }

    /// Fetches jobs and acknowledges them.
    fn handle(&mut self, count: usize) -> Result<u64, BenchError> {
        let claimed = self.driver.fetch(Fetch::of(vec![self.queue.clone()], count), count)?;
        Ok(self.driver.ack(claimed)?.len() as u64)
    }
}
