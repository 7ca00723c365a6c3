//! Measures log and view alone: how many job cycles (enqueue, claim, acknowledge, purge) they commit and apply per
//! second.
//!
//! Operations are interleaved as in a busy server: every batch has enqueues of new jobs, claims and
//! acknowledgements of older ones, and purges of still older ones. One thread appends, another applies what has
//! gathered meanwhile.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Instant;

use bytes::Bytes;
use rota_log::{Entry, Log, SegmentLog};
use rota_model::Durability;
use rota_model::{
    Class, ClassId, Ending, IdKey, JobId, JobType, Live, Millis, Policy, QueueName, Seq, TenantId,
    WorkerId,
};
use rota_storage::{Options as StorageOptions, Storage};
use rota_store::{Batch, Claim, Counts, Finish, Mutation, NewRow, View, encoding};
use rota_store_sqlite::SqliteView;

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
            let storage = StorageOptions { durability, ..StorageOptions::default() };
            measure(&dir, storage, *batch, options, progress)
        })
        .collect()
}

fn measure(
    dir: &Path,
    storage: StorageOptions,
    batch: u64,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Line, BenchError> {
    let name = format!("log and view alone, {batch} operations a commit");
    let Storage { mut log, mut view, .. } =
        rota_storage::open(dir, &storage, &mut |_| ()).map_err(|error| failed(&error))?;
    let mut load = Workload::new();
    let classes = load.classes();
    append(&mut log, &classes)?;
    ready(view.apply(&[classes])).map_err(|error| failed(&error))?;
    while load.purged == 0 {
        progress.show("log and view: filling", load.finished as f64 / KEPT as f64, 0.0)?;
        let next = load.next(4096 * 3);
        append(&mut log, &next)?;
        ready(view.apply(&[next])).map_err(|error| failed(&error))?;
    }
    let (first, mut times, begun) = (load.purged, histogram(), Instant::now());
    let (committed, gathered) = sync_channel(AHEAD);
    let durable = Arc::new(AtomicU64::new(0));
    let durable_by_view = durable.clone();
    let applying = thread::spawn(move || apply_all(view, &gathered, &durable_by_view));
    let whole = options.duration.as_secs_f64();
    while begun.elapsed().as_secs_f64() < whole {
        let next = load.next(batch);
        let from = Instant::now();
        append(&mut log, &next)?;
        times.saturating_record(from.elapsed().as_nanos() as u64);
        if committed.send(next).is_err() {
            break;
        }
        ready(log.truncate(durable.load(Ordering::Acquire) + 1)).map_err(|error| failed(&error))?;
        let seconds = begun.elapsed().as_secs_f64();
        progress.show(&name, seconds / whole, (load.purged - first) as f64 / seconds)?;
    }
    drop(committed);
    let applied = applying.join().unwrap_or_else(|_| Err("the thread panicked".to_owned()));
    let seconds = begun.elapsed().as_secs_f64();
    let view = applied.map_err(|error| failed(&error))?;
    ready(view.close()).map_err(|error| failed(&error))?;
    ready(log.close()).map_err(|error| failed(&error))?;
    let rate = (load.purged - first) as f64 / seconds;
    Ok(Line::value(&name, rate, "cycles per second").times(Some(percentiles(&times))))
}

/// How many batches the view may be behind the log.
const AHEAD: usize = 64;

fn failed(error: &dyn std::fmt::Display) -> BenchError {
    BenchError::Server(format!("the storage: {error}"))
}

fn append(log: &mut SegmentLog, batch: &Batch) -> Result<(), BenchError> {
    let mut payload = Vec::new();
    encoding::encode(batch, &[], &mut payload);
    let term = log.tip().term;
    let entry = Entry { index: batch.number, term, time: batch.now.0, payload: payload.into() };
    ready(log.append(&entry)).map_err(|error| failed(&error))
}

fn apply_all(
    mut view: SqliteView,
    gathered: &Receiver<Batch>,
    durable: &AtomicU64,
) -> Result<SqliteView, String> {
    while let Ok(first) = gathered.recv() {
        let batches: Vec<Batch> = std::iter::once(first).chain(gathered.try_iter()).collect();
        ready(view.apply(&batches)).map_err(|error| error.to_string())?;
        durable.store(view.durable(), Ordering::Release);
    }
    Ok(view)
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
        Batch { number: self.number, now, next_seq: Seq(self.enqueued), event_count: 0, mutations }
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
