//! The engine alone: decisions, without HTTP and without a disk.

use std::time::Instant;

use bytes::Bytes;
use rota_engine::{
    Ack, Command, Config, Engine, Enqueue, Fetch, Holder, Now, Reply, Settle, Target,
};
use rota_model::envelope::NewJob;
use rota_model::row::Place;
use rota_model::{Class, JobId, JobType, Millis, Policy, QueueName, TenantId, WorkerId};

use crate::{BenchError, Line, Options, Progress};

const EPOCH: i64 = 1_700_000_000_000;
/// Tenants that take turns; each is a lane of its own.
const TENANTS: usize = 10_000;
/// Operations that share a commit.
const BATCH: u64 = 512;
/// How many jobs wait at first, and how many a worker takes at once.
const WAITING: usize = 1_000_000;
const AT_ONCE: usize = 100;

/// Claims and acknowledgements on one core.
pub fn engine(options: &Options, progress: &dyn Progress) -> Result<Vec<Line>, BenchError> {
    let mut bench = Bench::new()?;
    let filling = Instant::now();
    while bench.waiting < WAITING {
        progress.show("engine: filling", bench.waiting as f64 / WAITING as f64, 0.0)?;
        bench.enqueue(10_000)?;
    }
    let enqueued = bench.waiting as f64 / filling.elapsed().as_secs_f64();
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
    engine: Engine,
    queue: QueueName,
    worker: WorkerId,
    classes: Vec<Class>,
    body: Bytes,
    ms: u64,
    waiting: usize,
    mutations: u64,
    batches: u64,
}

impl Bench {
    fn new() -> Result<Self, BenchError> {
        let queue = QueueName::default_queue();
        let class = |n: usize| Class {
            queue: QueueName::default_queue(),
            kind: JobType::parse("bench.job").expect("the type is valid"),
            tenant: TenantId::parse(&format!("tenant-{n}")).expect("the name is valid"),
            priority: 0,
            policy: Policy::default().into(),
        };
        Ok(Self {
            engine: Engine::new(Config::default(), 1),
            queue,
            worker: WorkerId::parse("bench").expect("the name is valid"),
            classes: (0..TENANTS).map(class).collect(),
            body: vec![b'x'; 300].into(),
            ms: 0,
            waiting: 0,
            mutations: 0,
            batches: 0,
        })
    }

    fn apply(&mut self, command: Command) -> Reply {
        let reply = self.engine.apply(self.ms, command);
        // A runtime would hand these to the store.
        let mut effects = self.engine.take_effects();
        self.mutations += effects.mutations.len() as u64;
        if self.mutations >= BATCH {
            self.mutations = 0;
            self.batches += 1;
            self.engine.seal(self.batches, &mut effects.mutations);
        }
        drop(effects);
        reply
    }

    fn tick(&mut self) {
        self.ms += 1;
        let now = Now { wall: Millis(EPOCH + self.ms as i64), mono: self.ms };
        self.apply(Command::Tick(now));
    }

    fn enqueue(&mut self, count: usize) -> Result<(), BenchError> {
        for chunk in 0..count / AT_ONCE {
            self.tick();
            let job = |n: usize| NewJob {
                id: JobId::v7(EPOCH, n as u128),
                id_given: false,
                class: self.classes[(chunk * AT_ONCE + n) % TENANTS].clone(),
                start_at: None,
                expires: None,
                pending: false,
                body: self.body.clone(),
            };
            let jobs = (0..AT_ONCE).map(job).collect();
            match self.apply(Command::Enqueue(Enqueue { jobs, wait: None })) {
                Reply::Enqueued(all) if all.jobs.len() == AT_ONCE => self.waiting += AT_ONCE,
                other => return Err(BenchError::wrong(format!("enqueue: {other:?}"))),
            }
        }
        Ok(())
    }

    /// Takes some jobs and acknowledges them.
    fn handle(&mut self, count: usize) -> Result<u64, BenchError> {
        self.tick();
        let worker = Some(self.worker.clone());
        let fetch = Fetch { worker, ..Fetch::of(vec![self.queue.clone()], count) };
        let claimed = match self.apply(Command::Fetch(fetch)) {
            Reply::Fetched(claimed) if claimed.len() == count => claimed,
            other => return Err(BenchError::wrong(format!("fetch: {other:?}"))),
        };
        self.tick();
        let mut all = Vec::with_capacity(count);
        for job in claimed {
            let now = self.engine.active_job(job.seq);
            let now = now.ok_or_else(|| BenchError::wrong("a claimed job is not active"))?;
            let (seq, id) = (job.seq, JobId::v7(EPOCH, 0));
            let holder = Holder { worker: Some(self.worker.clone()), attempt: Some(job.attempt) };
            let job = Target { seq, id, now: Place::Live(now) };
            all.push(Settle::Ack(Ack { job, holder, result: None }));
        }
        match self.apply(Command::Settle(all)) {
            Reply::Settled(all) if all.iter().all(Result::is_ok) => {
                self.waiting -= all.len();
                Ok(all.len() as u64)
            }
            other => Err(BenchError::wrong(format!("ack: {other:?}"))),
        }
    }
}
