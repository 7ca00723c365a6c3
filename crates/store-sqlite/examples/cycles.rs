//! How many full cycles (enqueue, claim, acknowledge, and in time purge) the store thread can make
//! durable in a second, on one thread, with nothing else in the way.
//!
//!     cargo run --release -p rota-store-sqlite --example cycles -- [dir] [cycles] [batch] [waiting]
//!
//! Operations are interleaved as a busy server would: every batch holds enqueues of new jobs,
//! claims and acknowledgements of older ones, and the purge of as many that are older still.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use rota_model::{
    Class, ClassId, Ending, IdKey, JobId, JobType, Live, Millis, Policy, QueueName, Seq, State,
    TenantId, WorkerId,
};
use rota_store::{
    Batch, Claim, Counts, Finish, HistoryRow, Kind, Loaded, Mutation, NewRow, Sink, Store,
};
use rota_store_sqlite::{Options, SqliteStore};

const EPOCH: i64 = 1_700_000_000_000;
const CLASSES: u64 = 10;
/// How many jobs wait, run and are kept while the measurement runs.
const WAITING: u64 = 20_000;
const RUNNING: u64 = 1_000;
const KEPT: u64 = 100_000;
/// The list of what to remove is as long as it would be, though commits differ in size.
const PURGED_AFTER: i64 = 600;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let dir = args.next().map_or_else(|| std::env::temp_dir().join("rota-cycles"), PathBuf::from);
    let cycles: u64 = args.next().map_or(Ok(1_000_000), |n| n.parse())?;
    let batch: u64 = args.next().map_or(Ok(512), |n| n.parse())?;
    let waiting: u64 = args.next().map_or(Ok(1_000_000), |n| n.parse())?;
    if dir.exists() {
        return Err(format!("{} exists already", dir.display()).into());
    }
    let result = measure(&dir, cycles, batch).and_then(|load| reload(&dir, load, waiting));
    std::fs::remove_dir_all(&dir)?;
    result
}

fn measure(dir: &Path, cycles: u64, batch: u64) -> Result<Workload, Box<dyn Error>> {
    let mut store = SqliteStore::open(dir, Options::default())?;
    let mut load = Workload::new()?;
    ready(store.commit(&load.classes()))?;
    while load.purged == 0 {
        let filling = load.next(4096 * 3);
        ready(store.commit(&filling))?;
    }

    let (start, first) = (Instant::now(), load.purged);
    let mut slowest = 0.0_f64;
    let mut deciding = 0.0;
    while load.purged - first < cycles {
        let deciding_from = Instant::now();
        let next = load.next(batch);
        deciding += deciding_from.elapsed().as_secs_f64();
        let from = Instant::now();
        ready(store.commit(&next))?;
        slowest = slowest.max(from.elapsed().as_secs_f64());
    }
    let seconds = start.elapsed().as_secs_f64() - deciding;
    let done = load.purged - first;
    println!(
        "{done} cycles in batches of {batch} operations: {:.0} cycles/s",
        done as f64 / seconds
    );
    println!("slowest commit {:.1} ms", slowest * 1000.0);
    for file in ["rota.db", "rota.db-wal"] {
        let len = std::fs::metadata(dir.join(file))?.len();
        println!("{file} {:.1} MiB", len as f64 / f64::from(1 << 20));
    }
    ready(store.close())?;
    Ok(load)
}

/// A start with that many waiting jobs.
fn reload(dir: &Path, mut load: Workload, waiting: u64) -> Result<(), Box<dyn Error>> {
    let mut store = SqliteStore::open(dir, Options::default())?;
    for _ in 0..waiting / 10_000 {
        ready(store.commit(&load.enqueue(10_000)))?;
    }
    ready(store.close())?;
    let start = Instant::now();
    let mut store = SqliteStore::open(dir, Options::default())?;
    let opened = start.elapsed();
    let mut count = Count(0);
    let loaded: Loaded = ready(store.load(&mut count))?;
    let seconds = (start.elapsed() - opened).as_secs_f64();
    println!(
        "opened in {:.1} ms, loaded {} jobs in {:.0} ms: {:.1} million/s (batch {})",
        opened.as_secs_f64() * 1000.0,
        count.0,
        seconds * 1000.0,
        count.0 as f64 / seconds / 1e6,
        loaded.number,
    );
    Ok(ready(store.close())?)
}

struct Count(u64);

impl Sink for Count {
    fn class(&mut self, _: ClassId, _: Class, _: Counts) {}
    fn named(&mut self, _: Kind, _: std::sync::Arc<str>, _: Bytes) {}
    fn live(&mut self, _: Live) {
        self.0 += 1;
    }
    fn history(&mut self, _: HistoryRow) {}
}

/// Each counter is the sequence number of the next job to which that happens.
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
    fn new() -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            number: 0,
            enqueued: 0,
            claimed: 0,
            finished: 0,
            purged: 0,
            worker: WorkerId::parse("worker-019539a4")?,
            body: vec![b'x'; 300].into(),
        })
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

    fn enqueue(&mut self, count: u64) -> Batch {
        let mutations = (0..count).map(|_| self.insert()).collect();
        self.batch(mutations)
    }

    /// So many operations: a third each of enqueues, claims and acknowledgements, as far as
    /// there is something to claim and to acknowledge, and the purge of what is kept too long.
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
        mutations.push(Mutation::Swept(Millis(EPOCH + self.number as i64 - PURGED_AFTER)));
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
        let live = Live {
            seq,
            class,
            state: State::Available,
            attempt: 0,
            enqueued: now,
            due: None,
            started: None,
            expires: None,
            worker: None,
            reserved_ms: 0,
            held: false,
        };
        Mutation::Insert(new, live)
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

/// The futures of this store are ready at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("this store never waits"),
    }
}
