//! Starting and stopping the threads.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use rota_engine::{Config, InFlight};
use rota_store::{Batch, Store, StoreError};
use tokio::runtime::Handle as Tokio;
use tokio::sync::mpsc;

use super::ask::Input;
use super::body_cache::BodyCache;
use super::engine_loop::EngineLoop;
use super::mailbox::Mailbox;
use super::misplaced::OtherIsolation;
use super::pacing::Pacing;
use super::queue::Queue;
use super::reader::{self, Reads};
use super::release::{self, Release};
use super::resolve::Resolver;
use super::store_loop::StoreLoop;
use super::{Clock, Events, Handle, retention};

pub struct Options {
    pub config: Config,
    /// Requests that may wait for the engine.
    pub commands: usize,
    /// The most requests that share a commit.
    pub batch: usize,
    pub cache_bytes: usize,
    pub events: usize,
    pub retention_batch: usize,
    /// Called when nothing more may be answered: the store's state is unknown or damaged.
    pub on_fatal: Arc<dyn Fn(&str) + Send + Sync>,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the data cannot be read: {0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Misplaced(OtherIsolation),
    #[error("a thread cannot be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// How the server is, for health checks.
#[derive(Clone, Default)]
pub struct Health(Arc<AtomicBool>);

impl Health {
    /// The disk is full: only work that makes no new data is done.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn set_full(&self, full: bool) {
        self.0.store(full, Ordering::Relaxed);
    }
}

pub struct Runtime {
    handle: Handle,
    health: Health,
    threads: Vec<JoinHandle<()>>,
    readers: Vec<JoinHandle<()>>,
    release: tokio::task::JoinHandle<()>,
    retention: tokio::task::JoinHandle<()>,
}

const READERS: usize = 2;
const READS_WAITING: usize = 4096;

impl Runtime {
    /// Loads the store and starts. Must be called inside the async runtime.
    pub fn start<S: Store>(store: S, options: Options) -> Result<Self, StartError> {
        let tokio = Tokio::current();
        let clock = Clock::start();
        let health = Health::default();
        let seed = fastrand::u64(..);
        let mailbox = Arc::new(Mailbox::new(options.commands));
        let work = Arc::new(Queue::new(1));
        let reads = Arc::new(Queue::new(READS_WAITING));
        let (committed, releases) = mpsc::unbounded_channel::<Release>();
        let events = Arc::new(Events::new(options.events, fastrand::u32(..), clock.now().wall));
        let resolver = Resolver::new(store.reader()?, tokio.clone());
        let readers = (0..READERS).map(|_| store.reader()).collect::<Result<Vec<_>, _>>()?;
        let mut store_loop = StoreLoop {
            store,
            tokio: tokio.clone(),
            clock: clock.clone(),
            config: options.config,
            seed,
            work: work.clone(),
            mailbox: mailbox.clone(),
            committed,
            health: health.clone(),
            on_fatal: fatal(&options.on_fatal),
        };
        let (engine, loaded) = tokio::task::block_in_place(|| store_loop.load())?;
        if let Some(misplaced) = engine.misplaced() {
            return Err(StartError::Misplaced(OtherIsolation(misplaced)));
        }
        let engine_loop = EngineLoop {
            engine,
            clock: clock.clone(),
            mailbox: mailbox.clone(),
            work,
            resolver,
            bodies: BodyCache::new(options.cache_bytes),
            in_flight: InFlight::new(seed),
            number: loaded.number,
            batch: Batch::default(),
            release: Release::default(),
            waiting: HashMap::default(),
            most: options.batch,
            health: health.clone(),
            room_checked: Instant::now(),
            pacing: Pacing::default(),
            on_fatal: fatal(&options.on_fatal),
        };
        let handle = Handle {
            mailbox: mailbox.clone(),
            reads: Reads(reads.clone()),
            events: events.clone(),
            clock,
            next_waiter: Arc::new(AtomicU64::new(1)),
        };
        let threads = vec![
            vital("rota-engine", &options.on_fatal, move || engine_loop.run())?,
            vital("rota-store", &options.on_fatal, move || store_loop.run())?,
        ];
        let readers = readers
            .into_iter()
            .map(|reader| {
                let (reads, tokio) = (reads.clone(), tokio.clone());
                let on_fatal = fatal(&options.on_fatal);
                thread("rota-reader", move || reader::run(reader, &reads, &tokio, &on_fatal))
            })
            .collect::<Result<_, _>>()?;
        let release = tokio.spawn(release::run(releases, events, mailbox));
        let retention = tokio.spawn(retention::run(handle.clone(), options.retention_batch));
        Ok(Self { handle, health, threads, readers, release, retention })
    }

    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    #[must_use]
    pub fn health(&self) -> Health {
        self.health.clone()
    }

    /// Serves what is in hand, commits it, and closes the store.
    pub async fn stop(self) {
        self.retention.abort();
        let (mailbox, reads) = (self.handle.mailbox.clone(), self.handle.reads.clone());
        let (threads, readers) = (self.threads, self.readers);
        let joined = tokio::task::spawn_blocking(move || {
            reads.stop(readers.len());
            let read = readers.into_iter().all(|thread| thread.join().is_ok());
            // The engine may be gone already; then there is nothing to stop.
            let _ = mailbox.put(Input::Stop);
            threads.into_iter().all(|thread| thread.join().is_ok()) && read
        });
        if !joined.await.unwrap_or(false) {
            tracing::error!("a thread of the server panicked");
        }
        // The store thread has gone, so the last answers are on their way out.
        if self.release.await.is_err() {
            tracing::error!("the last answers could not be given");
        }
    }
}

fn thread(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}

/// A thread without which nothing may be answered: when it panics, that is the end.
fn vital(
    name: &'static str,
    on_fatal: &Arc<dyn Fn(&str) + Send + Sync>,
    run: impl FnOnce() + Send + 'static,
) -> std::io::Result<JoinHandle<()>> {
    let on_fatal = on_fatal.clone();
    thread(name, move || {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err() {
            on_fatal(&format!("the thread {name} panicked; this is a bug"));
        }
    })
}

fn fatal(on_fatal: &Arc<dyn Fn(&str) + Send + Sync>) -> Box<dyn Fn(&str) + Send> {
    let on_fatal = on_fatal.clone();
    Box::new(move |cause| on_fatal(cause))
}
