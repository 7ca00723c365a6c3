//! The threads around the engine as tests run them: those of the log and the view run, and the test itself is the
//! engine thread and the prefetch stage.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rota_engine::{Config, InFlight};
use rota_log::Log;
use rota_storage::{Options, Storage};
use rota_store::{Batch, View};
use rota_store_sqlite::{SqliteReader, SqliteView};
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use super::Health;
use super::ask::{Answer, Ask, CallerScope, Input, Request};
use super::body_cache::BodyCache;
use super::clock::ClockDriver;
use super::commit_loop::{CommitLoop, StoreReport};
use super::engine_loop::EngineLoop;
use super::events::EventEncoder;
use super::mailbox::{Mail, Mailbox};
use super::pacing::Pacing;
use super::prefetch::{self, Prefetched, Prefetches};
use super::queue::Queue;
use super::release::Release;
use super::resolve::Resolver;
use super::view_loop::ViewLoop;
use super::view_position::ViewPosition;
use super::view_queue::ViewQueue;

/// Longer than any test takes: it ends tests that hang.
pub const LONG: Duration = Duration::from_secs(60);

pub struct TestRuntime {
    pub engine_loop: EngineLoop,
    pub prefetches: Arc<Prefetches>,
    pub mailbox: Arc<Mailbox>,
    /// The last batch that the view has reported.
    applied: u64,
    tokio: tokio::runtime::Runtime,
    reader: SqliteReader,
    releases: mpsc::UnboundedReceiver<Release>,
    threads: Vec<JoinHandle<()>>,
    _directory: tempfile::TempDir,
}

impl TestRuntime {
    pub fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let options = Options { reserve_bytes: 0, ..Options::default() };
        let storage = rota_storage::open(directory.path(), &options, &mut |_| ());
        let Storage { log, view, term } = storage.unwrap();
        let position = Arc::new(ViewPosition::new(log.tip().index));
        let queue = Arc::new(ViewQueue::new(1 << 20));
        let (mailbox, work) = (Arc::new(Mailbox::new(9, 1 << 20)), Arc::new(Queue::new(1)));
        let (committed, releases) = mpsc::unbounded_channel::<Release>();
        let prefetches = Arc::new(Prefetches::new(9, 1 << 20));
        let reader = view.reader().unwrap();
        let clock = ClockDriver::start();
        let mut view_loop: ViewLoop<SqliteView> = ViewLoop {
            view,
            tokio: tokio.handle().clone(),
            clock: clock.clock().clone(),
            config: Config::default(),
            seed: 1,
            queue: queue.clone(),
            position: position.clone(),
            mailbox: mailbox.clone(),
            released: committed.clone(),
            health: Health::default(),
            on_fatal: Box::new(|cause| panic!("{cause}")),
        };
        let commit_loop = CommitLoop {
            log,
            tokio: tokio.handle().clone(),
            work: work.clone(),
            mailbox: mailbox.clone(),
            committed,
            health: Health::default(),
            keys: Arc::default(),
            request_limits: Arc::default(),
            view: queue,
            position,
            on_fatal: Box::new(|cause| panic!("{cause}")),
            event_encoder: EventEncoder::default(),
            keep: rota_storage::KeepRule::default(),
            term,
            last_bytes: 0,
        };
        let (engine, loaded) = view_loop.load().unwrap();
        let engine_loop = EngineLoop {
            engine,
            clock,
            mailbox: mailbox.clone(),
            work,
            resolver: Resolver::default(),
            prefetches: prefetches.clone(),
            outstanding: 0,
            waits_prefetched: HashSet::default(),
            bodies: BodyCache::new(1_000),
            in_flight: InFlight::new(1, loaded.number),
            last_batch: loaded.number,
            event_count: loaded.event_count,
            batch: Batch::default(),
            release: Release::default(),
            deletions: 0,
            waiting: HashMap::default(),
            max_requests: 9,
            lookups: Arc::default(),
            health: Health::default(),
            space_checked: Instant::now(),
            pacing: Pacing::default(),
            on_fatal: Box::new(|cause| panic!("{cause}")),
        };
        let threads = vec![
            std::thread::spawn(move || commit_loop.run()),
            std::thread::spawn(move || view_loop.run()),
        ];
        Self {
            engine_loop,
            prefetches,
            mailbox,
            applied: loaded.number,
            tokio,
            reader,
            releases,
            threads,
            _directory: directory,
        }
    }

    /// Hands a request of an operator to the engine thread.
    pub fn ask(&mut self, ask: impl Into<Ask>) -> oneshot::Receiver<Answer> {
        let (sender, answer) = oneshot::channel();
        let caller = Some(CallerScope::default());
        let request = Request { ask: ask.into(), caller, responder: Some(sender) };
        self.engine_loop.handle(Mail::Inputs(vec![Input::Request(request)]));
        answer
    }

    /// Reads for the requests in the prefetch stage, as of now. They stay there.
    pub fn read_facts(&mut self) -> Vec<Prefetched> {
        let round = self.prefetches.next_round();
        self.tokio.block_on(prefetch::read(&mut self.reader, round)).unwrap()
    }

    /// Gives requests back to the engine thread.
    pub fn resume(&mut self, prefetched: impl IntoIterator<Item = Prefetched>) {
        let inputs = prefetched.into_iter().map(Input::Prefetched);
        self.engine_loop.handle(Mail::Inputs(inputs.collect()));
    }

    /// Waits for what the log releases next.
    pub fn release(&mut self) {
        let release = self.releases.blocking_recv().unwrap();
        release.answers.into_iter().for_each(|(sender, answer)| drop(sender.send(answer)));
    }

    /// Plays the engine thread until there is an answer.
    pub fn answer(&mut self, mut answer: oneshot::Receiver<Answer>) -> Answer {
        loop {
            while let Ok(release) = self.releases.try_recv() {
                release.answers.into_iter().for_each(|(sender, answer)| drop(sender.send(answer)));
            }
            match answer.try_recv() {
                Ok(answer) => return answer,
                Err(TryRecvError::Closed) => panic!("the request was dropped"),
                Err(TryRecvError::Empty) => self.poll(),
            }
        }
    }

    /// Plays the engine thread until it knows that the view has applied everything.
    pub fn catch_up(&mut self) {
        while self.applied < self.engine_loop.last_batch {
            self.poll();
        }
    }

    /// Handles a report of the log or the view, if there is one soon.
    fn poll(&mut self) {
        let soon = Duration::from_millis(1);
        let mail = self.mailbox.wait(Some(soon), soon, 0, 1);
        if let Mail::StoreReport(StoreReport::Applied(batch, _)) = mail {
            self.applied = batch;
        }
        if !matches!(mail, Mail::TimedOut) {
            self.engine_loop.handle(mail);
        }
    }

    pub fn stop(self) {
        drop(self.reader);
        self.prefetches.set_ended();
        self.engine_loop.finish();
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
