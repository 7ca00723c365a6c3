//! Measures the store alone: how many job cycles (enqueue, claim, acknowledge, purge) it commits per second.
//!
//! Operations are interleaved as in a busy server: every batch has enqueues of new jobs, claims and
//! acknowledgements of older ones, and purges of still older ones.

use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use rota_model::{
    Class, ClassId, Ending, IdKey, JobId, JobType, Live, Millis, Policy, QueueName, Seq, TenantId,
    WorkerId,
};
use rota_store::{Batch, Claim, Counts, Finish, Mutation, NewRow, Store};
use rota_store_sqlite::{Durability, Options as StoreOptions, SqliteStore};

use crate::measurement::{histogram, percentiles};
use crate::{BenchError, Line, Options, Progress};

const EPOCH: i64 = 1_700_000_000_000;
const CLASSES: u64 = 10;
/// Number of waiting, active and finished jobs during the measurement.
const WAITING: u64 = 20_000;
const RUNNING: u64 = 1_000;
const KEPT: u64 = 100_000;
/// The list of what to remove is as long as it would be, though commits differ in size.
const PURGED_AFTER: i64 = 600;
/// Operations per commit.
const BATCHES: [u64; 2] = [512, 1536];

pub fn store(options: &Options, progress: &dyn Progress) -> Result<Vec<Line>, BenchError> {
    let home = tempfile::Builder::new().prefix("rota-bench-").tempdir_in(&options.dir)?;
    let durability = if options.durability == "os" { Durability::Os } else { Durability::Fsync };
    BATCHES
        .iter()
        .map(|batch| {
            let dir = home.path().join(batch.to_string());
            let store = StoreOptions { durability, ..StoreOptions::default() };
            measure(&dir, store, *batch, options, progress)
        })
        .collect()
}

fn measure(
    dir: &Path,
    store: StoreOptions,
    batch: u64,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Line, BenchError> {
    let failed = |error: &dyn std::fmt::Display| BenchError::Server(format!("the store: {error}"));
    let name = format!("store alone, {batch} operations a commit");
    let mut store = SqliteStore::open(dir, store).map_err(|error| failed(&error))?;
    let mut load = Workload::new();
    ready(store.commit(&load.classes())).map_err(|error| failed(&error))?;
    while load.purged == 0 {
        progress.show("store: filling", load.finished as f64 / KEPT as f64, 0.0)?;
        ready(store.commit(&load.next(4096 * 3))).map_err(|error| failed(&error))?;
    }
    let (first, mut seconds, mut times) = (load.purged, 0.0, histogram());
    let whole = options.duration.as_secs_f64();
    while seconds < whole {
        let next = load.next(batch);
        let from = Instant::now();
        ready(store.commit(&next)).map_err(|error| failed(&error))?;
        let took = from.elapsed();
        seconds += took.as_secs_f64();
        times.saturating_record(took.as_nanos() as u64);
        let done = (load.purged - first) as f64;
        progress.show(&name, seconds / whole, done / seconds)?;
    }
    ready(store.close()).map_err(|error| failed(&error))?;
    let rate = (load.purged - first) as f64 / seconds;
    Ok(Line::value(&name, rate, "cycles per second").times(Some(percentiles(&times))))
}

/// Generates batches. Each counter is the sequence number of the next job for that operation.
struct Workload {
    number: u64,
    enqueued: u64,
    claimed: u64,
    finished: u64,
    purged: u64,
    worker: WorkerId,
    body: Bytes,
}

impl Workload {
    fn new() -> Self {
        Self {
            number: 0,
            enqueued: 0,
            claimed: 0,
            finished: 0,
            purged: 0,
            worker: WorkerId::parse("worker-019539a4").expect("the name is valid"),
            body: vec![b'x'; 300].into(),
        }
    }

    fn classes(&mut self) -> Batch {
        let class = |n: u64| Class {
            queue: QueueName::default_queue(),
            kind: JobType::parse("email.send").expect("the type is valid"),
            tenant: TenantId::parse(&format!("tenant-{n}")).expect("the tenant is valid"),
            priority: 0,
            policy: Policy::default().into(),
        };
        let mutations =
            (0..CLASSES).map(|n| Mutation::Class(ClassId(n as u32), class(n).into())).collect();
        self.batch(mutations)
    }

    /// The next batch: a third each of enqueues, claims and acknowledgements, as far as there are jobs to
    /// claim and acknowledge, and the purges that are due.
    fn next(&mut self, operations: u64) -> Batch {
        let mut mutations = Vec::with_capacity(operations as usize * 2);
        for _ in 0..operations / 3 {
            mutations.push(self.insert());
            if self.enqueued - self.claimed > WAITING {
                mutations.push(self.claim());
            }
            if self.claimed - self.finished > RUNNING {
                mutations.push(self.finish());
            }
        }
        while self.finished - self.purged > KEPT {
            mutations.push(Mutation::Delete(Seq(self.purged)));
            self.purged += 1;
        }
        mutations.push(Mutation::Purged(Millis(EPOCH + self.number as i64 - PURGED_AFTER)));
        for class in 0..CLASSES as u32 {
            mutations.push(Mutation::Counts(ClassId(class), Counts([self.finished; 5])));
        }
        self.batch(mutations)
    }

    fn batch(&mut self, mutations: Vec<Mutation>) -> Batch {
        self.number += 1;
        let now = Millis(EPOCH + self.number as i64);
        Batch { number: self.number, now, next_seq: Seq(self.enqueued), mutations }
    }

    fn insert(&mut self) -> Mutation {
        let seq = Seq(self.enqueued);
        self.enqueued += 1;
        let class = ClassId((seq.0 % CLASSES) as u32);
        let now = Millis(EPOCH + self.number as i64);
        let random = u128::from(seq.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)) << 40;
        let new = NewRow {
            seq,
            id: JobId::v7(now.0, random).seal(IdKey(0), seq),
            given: false,
            class,
            created: now,
            body: self.body.clone(),
        };
        Mutation::Insert(new, Live::ready(seq, class, now, self.body.len() as u32).into())
    }

    fn claim(&mut self) -> Mutation {
        let seq = Seq(self.claimed);
        self.claimed += 1;
        let now = Millis(EPOCH + self.number as i64);
        Mutation::Claim(Claim {
            seq,
            attempt: 1,
            started: now,
            due: now.saturating_add_ms(30_000),
            reserved_ms: 30_000,
            worker: Some(self.worker.clone()),
            pool: None,
        })
    }

    fn finish(&mut self) -> Mutation {
        let seq = Seq(self.finished);
        self.finished += 1;
        let now = Millis(EPOCH + self.number as i64);
        Mutation::Finish(Finish {
            seq,
            ending: Ending::Completed,
            at: now,
            purge_at: Some(now),
            result: None,
        })
    }
}

/// Polls once, because the futures of this store are ready at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("this store never waits"),
    }
}
