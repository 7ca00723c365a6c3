//! Drives an engine without HTTP or disk, and checks its replies.

use bytes::Bytes;
use rota_engine::{
    Ack, Cap, Caps, Claimed, Command, Config, Engine, Enqueue, Event, Fetch, Holder, Now, Reply,
    Settle, Target,
};
use rota_model::envelope::NewJob;
use rota_model::mutation::Mutation;
use rota_model::row::JobRow;
use rota_model::{Class, JobId, Millis, WorkerId};

use crate::BenchError;

const EPOCH: i64 = 1_700_000_000_000;
/// Mutations per commit.
const COMMIT: usize = 512;
/// Marks a job that is not waiting.
const NOT_WAITING: u32 = u32::MAX;

/// An engine, the classes of its jobs, and the jobs that wait in it.
pub(crate) struct EngineDriver {
    engine: Engine,
    worker: WorkerId,
    classes: Vec<Class>,
    /// Class index of each waiting job, indexed by sequence number.
    waiting: Vec<u32>,
    body: Bytes,
    ms: u64,
    /// The mutations of the current batch.
    mutations: Vec<Mutation>,
    events: Vec<Event>,
    commits: u64,
}

/// A configuration without caps per tenant, because loads have few tenants.
fn without_caps() -> Config {
    let cap = |most| Cap { total: most, per_tenant: most };
    let caps = Caps { queues: cap(1_000_000), classes: cap(100_000_000), ..Caps::default() };
    Config { caps, ..Config::default() }
}

impl EngineDriver {
    pub fn new() -> Self {
        Self {
            engine: Engine::new(without_caps(), 1),
            worker: WorkerId::parse("bench").expect("the name is valid"),
            classes: Vec::new(),
            waiting: Vec::new(),
            body: vec![b'x'; 300].into(),
            ms: 0,
            mutations: Vec::new(),
            events: Vec::new(),
            commits: 0,
        }
    }

    /// Adds a class and returns its index.
    pub fn add_class(&mut self, class: Class) -> usize {
        self.classes.push(class);
        self.classes.len() - 1
    }

    pub fn classes(&self) -> usize {
        self.classes.len()
    }

    pub fn class(&self, index: usize) -> &Class {
        &self.classes[index]
    }

    /// Applies a command, which must not complete a waiting fetch.
    pub fn apply(&mut self, command: Command) -> Result<Reply, BenchError> {
        let reply = self.engine.apply(self.ms, command);
        let woken = self.engine.move_effects(&mut self.mutations, &mut self.events);
        if self.mutations.len() >= COMMIT {
            self.commits += 1;
            self.engine.seal(self.commits, &mut self.mutations);
            // A server would pass these to the store and the event streams.
            self.mutations.clear();
            self.events.clear();
        }
        match woken.first() {
            None => Ok(reply),
            Some((_, answer)) => Err(BenchError::wrong(format!("a fetch was woken: {answer:?}"))),
        }
    }

    pub fn tick(&mut self) -> Result<(), BenchError> {
        self.ms += 1;
        let now = Now { wall: Millis(EPOCH + self.ms as i64), mono: self.ms, ahead_ms: 0 };
        self.apply(Command::Tick(now)).map(drop)
    }

    /// Enqueues one job of each of these classes in one command.
    pub fn enqueue(&mut self, classes: &[usize]) -> Result<(), BenchError> {
        self.tick()?;
        let job = |(n, class): (usize, &usize)| NewJob {
            id: JobId::v7(EPOCH, n as u128),
            id_given: false,
            class: self.classes[*class].clone(),
            start_at: None,
            expires: None,
            pending: false,
            proven: false,
            body: self.body.clone(),
        };
        let jobs = classes.iter().enumerate().map(job).collect();
        match self.apply(Command::Enqueue(Enqueue { jobs, wait: None }))? {
            Reply::Enqueued(all) if all.jobs.len() == classes.len() => {
                for (job, class) in all.jobs.iter().zip(classes) {
                    let seq = job.seq.0 as usize;
                    if self.waiting.len() <= seq {
                        self.waiting.resize(seq + 1, NOT_WAITING);
                    }
                    self.waiting[seq] = *class as u32;
                }
                Ok(())
            }
            other => Err(BenchError::wrong(format!("enqueue: {other:?}"))),
        }
    }

    /// Fetches jobs. Exactly `expected` jobs must be returned.
    pub fn fetch(&mut self, fetch: Fetch, expected: usize) -> Result<Vec<Claimed>, BenchError> {
        self.tick()?;
        let worker = Some(self.worker.clone());
        match self.apply(Command::Fetch(Fetch { worker, ..fetch }))? {
            Reply::Fetched(claimed) if claimed.len() == expected => Ok(claimed),
            Reply::Fetched(claimed) => {
                let count = claimed.len();
                Err(BenchError::wrong(format!("{count} jobs were handed out, not {expected}")))
            }
            other => Err(BenchError::wrong(format!("fetch: {other:?}"))),
        }
    }

    /// Acknowledges jobs and returns their class indexes.
    pub fn ack(&mut self, claimed: Vec<Claimed>) -> Result<Vec<usize>, BenchError> {
        self.tick()?;
        let mut classes = Vec::with_capacity(claimed.len());
        let mut acks = Vec::with_capacity(claimed.len());
        for job in claimed {
            classes.push(self.take(&job)?);
            let now = self.engine.active_job(job.seq);
            let now = now.ok_or_else(|| BenchError::wrong("a claimed job is not active"))?;
            let (seq, id) = (job.seq, JobId::v7(EPOCH, 0));
            let holder = Holder { worker: Some(self.worker.clone()), attempt: Some(job.attempt) };
            let job = Target { seq, id, now: JobRow::Live(now) };
            acks.push(Settle::Ack(Ack { job, holder, result: None }));
        }
        match self.apply(Command::Settle(acks))? {
            Reply::Settled(all) if all.len() == classes.len() && all.iter().all(Result::is_ok) => {
                Ok(classes)
            }
            other => Err(BenchError::wrong(format!("ack: {other:?}"))),
        }
    }

    /// Returns the class index of a claimed job, which must have been waiting.
    fn take(&mut self, job: &Claimed) -> Result<usize, BenchError> {
        let waiting = self.waiting.get_mut(job.seq.0 as usize);
        match waiting.map(|class| std::mem::replace(class, NOT_WAITING)) {
            None | Some(NOT_WAITING) => {
                Err(BenchError::wrong(format!("job {} did not wait", job.seq.0)))
            }
            Some(class) => Ok(class as usize),
        }
    }
}
