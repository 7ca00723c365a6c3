//! Starts and stops the runtime's threads and tasks.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use rota_engine::{Config, InFlight, KeyChange};
use rota_log::Log;
use rota_storage::KeepRule;
use rota_store::{Batch, StoreError, View};
use tokio::runtime::Handle as Tokio;
use tokio::sync::mpsc;

use super::archive::Archive;
use super::body_cache::BodyCache;
use super::clock::ClockDriver;
use super::commit_loop::CommitLoop;
use super::engine_loop::EngineLoop;
use super::events::EventEncoder;
use super::isolation_mismatch::IsolationMismatch;
use super::lookups::Lookups;
use super::mailbox::Mailbox;
use super::pacing::Pacing;
use super::prefetch::{self, Prefetches};
use super::queue::Queue;
use super::reader::{self, FairReads, Reads};
use super::release::{self, Release};
use super::resolve::Resolver;
use super::view_loop::ViewLoop;
use super::view_position::ViewPosition;
use super::view_queue::ViewQueue;
use super::{Events, Handle, StreamTurns, dead_letter, retention};
use crate::identity::KeyTable;
use crate::priority::{self, Priority};
use crate::request_limits::TenantRequestLimits;

/// What the runtime needs to start, besides the log and its view.
pub struct Options {
    pub config: Config,
    /// Capacity of the mailbox: requests that may wait for the engine.
    pub commands: usize,
    /// The same in bytes.
    pub command_bytes: usize,
    /// The most requests that are taken from the mailbox at once.
    pub batch: usize,
    /// The most bytes of committed batches that the view may be behind.
    pub view_bytes: usize,
    /// Size of the body cache, in bytes.
    pub cache_bytes: usize,
    /// Capacity of the event ring, in events.
    pub events: usize,
    /// The most jobs that retention removes at once.
    pub retention_batch: usize,
    /// Where pruned jobs of the dead letter are archived.
    pub archive: Archive,
    /// The term of new records of the log.
    pub term: u64,
    /// How far back the log must reach for others than the view.
    pub keep: KeepRule,
    /// Called with the cause when nothing more may be answered, because the store's state is unknown or
    /// damaged.
    pub on_fatal: Arc<dyn Fn(&str) + Send + Sync>,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the data cannot be read: {0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    IsolationMismatch(IsolationMismatch),
    #[error("a thread cannot be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// The server's state for health checks.
#[derive(Clone, Default)]
pub struct Health(Arc<HealthState>);

#[derive(Default)]
struct HealthState {
    disk_full: AtomicBool,
    damaged_reads: AtomicU64,
}

impl Health {
    /// Whether the disk is full. Then new jobs and schedules are refused.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        self.0.disk_full.load(Ordering::Relaxed)
    }

    pub(super) fn set_disk_full(&self, full: bool) {
        self.0.disk_full.store(full, Ordering::Relaxed);
    }

    /// Reads that failed since the start because what they needed is damaged.
    #[must_use]
    pub fn damaged_reads(&self) -> u64 {
        self.0.damaged_reads.load(Ordering::Relaxed)
    }

    pub(super) fn count_damaged_read(&self) {
        self.0.damaged_reads.fetch_add(1, Ordering::Relaxed);
    }
}

/// The running threads and tasks.
pub struct Runtime {
    handle: Handle,
    health: Health,
    threads: Vec<JoinHandle<()>>,
    readers: Vec<JoinHandle<()>>,
    release: tokio::task::JoinHandle<()>,
    retention: tokio::task::JoinHandle<()>,
    dead_letter: tokio::task::JoinHandle<()>,
}

const READERS: usize = 2;

impl Runtime {
    /// Builds the engine from the view, which must have applied the whole log, and starts all threads. Must be
    /// called inside the async runtime.
    pub fn start<L: Log, V: View>(log: L, view: V, options: Options) -> Result<Self, StartError> {
        let tokio = Tokio::current();
        let mut driver = ClockDriver::start();
        let clock = driver.clock().clone();
        let health = Health::default();
        let seed = fastrand::u64(..);
        let mailbox = Arc::new(Mailbox::new(options.commands, options.command_bytes));
        let work = Arc::new(Queue::new(1));
        let lookups = Arc::new(Lookups::default());
        let position = Arc::new(ViewPosition::new(log.tip().index));
        let view_queue = Arc::new(ViewQueue::new(options.view_bytes));
        let reads = Arc::new(FairReads::new(lookups.clone(), position.clone()));
        let (committed, releases) = mpsc::unbounded_channel::<Release>();
        let prefetches = Arc::new(Prefetches::new(options.commands, options.command_bytes));
        let prefetch_reader = view.reader()?;
        let readers = (0..READERS).map(|_| view.reader()).collect::<Result<Vec<_>, _>>()?;
        let keys = Arc::new(KeyTable::default());
        let request_limits = Arc::new(TenantRequestLimits::default());
        let mut view_loop = ViewLoop {
            view,
            tokio: tokio.clone(),
            clock: clock.clone(),
            config: options.config,
            seed,
            queue: view_queue.clone(),
            position: position.clone(),
            mailbox: mailbox.clone(),
            released: committed.clone(),
            health: health.clone(),
            on_fatal: boxed(&options.on_fatal),
        };
        let mut commit_loop = CommitLoop {
            log,
            tokio: tokio.clone(),
            work: work.clone(),
            mailbox: mailbox.clone(),
            committed,
            health: health.clone(),
            keys: keys.clone(),
            request_limits: request_limits.clone(),
            view: view_queue.clone(),
            position: position.clone(),
            on_fatal: boxed(&options.on_fatal),
            event_encoder: EventEncoder::default(),
            keep: options.keep.clone(),
            term: options.term,
            last_bytes: 0,
        };
        let (engine, loaded) = tokio::task::block_in_place(|| view_loop.load())?;
        if let Some(mismatch) = engine.isolation_mismatch() {
            return Err(StartError::IsolationMismatch(IsolationMismatch(mismatch)));
        }
        let events = Arc::new(Events::new(options.events, loaded.event_count, loaded.id_key));
        let restored =
            tokio::task::block_in_place(|| tokio.block_on(events.restore(&mut commit_loop.log)));
        if let Err(error) = restored {
            tracing::warn!(%error, "recent events could not be read from the log; event streams miss them");
        }
        driver.not_before(engine.now().wall);
        let stored = engine.keys().map(|key| KeyChange::Put(Box::new(key.clone())));
        keys.apply(stored.collect());
        request_limits.apply(engine.request_limits().collect());
        let engine_loop = EngineLoop {
            engine,
            clock: driver,
            mailbox: mailbox.clone(),
            work,
            resolver: Resolver::default(),
            prefetches: prefetches.clone(),
            outstanding: 0,
            waits_prefetched: HashSet::default(),
            bodies: BodyCache::new(options.cache_bytes),
            in_flight: InFlight::new(seed, loaded.number),
            last_batch: loaded.number,
            event_count: loaded.event_count,
            batch: Batch::default(),
            release: Release::default(),
            deletions: 0,
            waiting: HashMap::default(),
            max_requests: options.batch,
            lookups: lookups.clone(),
            health: health.clone(),
            space_checked: Instant::now(),
            pacing: Pacing::default(),
            on_fatal: boxed(&options.on_fatal),
        };
        let handle = Handle {
            mailbox: mailbox.clone(),
            reads: Reads(reads.clone()),
            events: events.clone(),
            turns: Arc::new(StreamTurns::new(events.clone())),
            clock,
            keys,
            request_limits,
            next_waiter: Arc::new(AtomicU64::new(1)),
            lookups,
            position,
            view_queue,
            keep: options.keep,
        };
        let prefetch_stage = {
            let (mailbox, tokio, health) = (mailbox.clone(), tokio.clone(), health.clone());
            let on_fatal = boxed(&options.on_fatal);
            move || {
                prefetch::run(prefetch_reader, &prefetches, &mailbox, &tokio, &health, &on_fatal)
            }
        };
        let threads = vec![
            spawn_critical("rota-engine", &options.on_fatal, move || engine_loop.run())?,
            spawn_critical("rota-log", &options.on_fatal, move || commit_loop.run())?,
            spawn_critical("rota-view", &options.on_fatal, move || view_loop.run())?,
            spawn_critical("rota-prefetch", &options.on_fatal, prefetch_stage)?,
        ];
        let readers = readers
            .into_iter()
            .map(|reader| {
                let (reads, tokio) = (reads.clone(), tokio.clone());
                let health = health.clone();
                spawn("rota-reader", move || {
                    priority::lower(Priority::Reads);
                    reader::run(reader, &reads, &tokio, &health);
                })
            })
            .collect::<Result<_, _>>()?;
        let release = tokio.spawn(release::run(releases, events, mailbox));
        let retention = tokio.spawn(retention::run(handle.clone(), options.retention_batch));
        let dead_letter =
            tokio.spawn(dead_letter::run(handle.clone(), options.archive, options.retention_batch));
        Ok(Self { handle, health, threads, readers, release, retention, dead_letter })
    }

    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    #[must_use]
    pub fn health(&self) -> Health {
        self.health.clone()
    }

    /// Serves the requests in the mailbox, commits, and closes the store.
    pub async fn stop(self) {
        self.retention.abort();
        self.dead_letter.abort();
        let (mailbox, reads) = (self.handle.mailbox.clone(), self.handle.reads.clone());
        let (threads, readers) = (self.threads, self.readers);
        let joined = tokio::task::spawn_blocking(move || {
            reads.stop();
            let readers_joined = readers.into_iter().all(|thread| thread.join().is_ok());
            mailbox.stop();
            threads.into_iter().all(|thread| thread.join().is_ok()) && readers_joined
        });
        if !joined.await.unwrap_or(false) {
            tracing::error!("a thread of the server panicked");
        }
        // The threads of the log and the view have stopped, so the release task ends after the last answers.
        if self.release.await.is_err() {
            tracing::error!("the last answers could not be given");
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}

/// Spawns a thread without which nothing may be answered: a panic in it is fatal.
fn spawn_critical(
    name: &'static str,
    on_fatal: &Arc<dyn Fn(&str) + Send + Sync>,
    run: impl FnOnce() + Send + 'static,
) -> std::io::Result<JoinHandle<()>> {
    let on_fatal = on_fatal.clone();
    spawn(name, move || {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
            on_fatal(&format!("the thread {name} panicked; this is a bug"));
        }
    })
}

fn boxed(on_fatal: &Arc<dyn Fn(&str) + Send + Sync>) -> Box<dyn Fn(&str) + Send> {
    let on_fatal = on_fatal.clone();
    Box::new(move |cause| on_fatal(cause))
}
