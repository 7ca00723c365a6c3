//! Batches: collected by the engine thread, submitted to the log, committed or not written.

use std::time::{Duration, Instant};

use rota_engine::InFlight;
use rota_store::{Batch, Reader};

use super::ask::{Answer, Unavailable};
use super::commit_loop::{StoreReport, Work};
use super::engine_loop::EngineLoop;

/// How often a full disk is checked for space.
const SPACE_CHECK_INTERVAL: Duration = Duration::from_secs(2);

impl<R: Reader> EngineLoop<R> {
    /// Submits the current batch to the log if pacing allows it, if the batch is large, or if
    /// `force` is set.
    pub(super) fn submit_batch(&mut self, force: bool) {
        if self.batch.mutations.is_empty() && self.release.is_empty() {
            return;
        }
        let is_large = self.batch.mutations.len() >= self.max_requests * 4;
        let now = Instant::now();
        if !force && !is_large && !self.pacing.may_submit(now) {
            return;
        }
        self.pacing.submitted(self.release.answers.len(), now);
        let work = self.take_work();
        if let Err(Work::Commit(_, release) | Work::ReleaseOnly(release)) = self.work.push(work) {
            release.fail(&Unavailable::ShuttingDown);
        }
    }

    fn take_work(&mut self) -> Work {
        let mut release = std::mem::take(&mut self.release);
        // Events are committed, too: they have the same numbers after a restart.
        if self.batch.mutations.is_empty() && release.events.is_empty() {
            return Work::ReleaseOnly(release);
        }
        release.first_event = self.event_count + 1;
        self.event_count += release.events.len() as u64;
        self.engine.seal(self.last_batch + 1, &mut self.batch.mutations);
        let mutations = std::mem::take(&mut self.batch.mutations);
        let batch = Batch {
            number: self.last_batch + 1,
            now: self.engine.now().wall,
            next_seq: self.engine.next_seq(),
            event_count: self.event_count,
            mutations,
        };
        self.last_batch += 1;
        Work::Commit(batch, release)
    }

    pub(super) fn handle_store_report(&mut self, report: StoreReport) {
        match report {
            StoreReport::Committed => self.pacing.finished(),
            StoreReport::Applied(number, applied) => {
                self.engine.note_freed(&applied.freed);
                self.in_flight.applied(number);
                self.resolver.tidy(&self.engine);
            }
            StoreReport::DiskFull => self.rebuild(),
            StoreReport::Finished => self.pacing.finished(),
            StoreReport::SpaceAvailable => {
                tracing::info!("there is room on the disk again: new jobs are accepted");
                self.health.set_disk_full(false);
            }
        }
    }

    /// Rebuilds the engine from the view after a batch was not written. Until then the engine's state
    /// contains changes that did not happen; every request that depends on them is answered with
    /// [`Unavailable::NotWritten`].
    fn rebuild(&mut self) {
        std::mem::take(&mut self.release).fail(&Unavailable::NotWritten);
        self.batch.mutations.clear();
        for (_, responder) in self.waiting.drain() {
            let _ = responder.send(Answer::Fetched(Vec::new()));
        }
        self.pacing.reset();
        let (sender, reloaded) = std::sync::mpsc::channel();
        if self.work.push(Work::Reload(sender)).is_err() {
            return;
        }
        match reloaded.recv() {
            Ok(Ok((engine, loaded))) => {
                self.engine = engine;
                (self.last_batch, self.event_count) = (loaded.number, loaded.event_count);
                self.in_flight = InFlight::new(fastrand::u64(..));
                self.resolver.reset();
                // The seqs of jobs that were not written will be assigned again.
                self.bodies.clear();
                // Reports about the batches after the failed one are out of date.
                self.mailbox.discard_store_reports();
            }
            Ok(Err(error)) => self.fatal(&error),
            Err(_) => {}
        }
    }

    pub(super) fn check_disk_space(&mut self) {
        if self.health.is_disk_full() && self.space_checked.elapsed() > SPACE_CHECK_INTERVAL {
            self.space_checked = Instant::now();
            let _ = self.work.try_push(Work::CheckSpace);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use rota_engine::{Command, Config};
    use rota_log::Log;
    use rota_model::{JobId, QueueName};
    use rota_storage::{Options, Storage};
    use rota_store::View;
    use tokio::sync::{mpsc, oneshot};

    use super::super::Health;
    use super::super::ask::{Ask, CallerScope, Input};
    use super::super::body_cache::BodyCache;
    use super::super::clock::ClockDriver;
    use super::super::commit_loop::CommitLoop;
    use super::super::events::EventEncoder;
    use super::super::mailbox::{Mail, Mailbox};
    use super::super::pacing::Pacing;
    use super::super::queue::Queue;
    use super::super::release::Release;
    use super::super::resolve::Resolver;
    use super::super::view_loop::ViewLoop;
    use super::super::view_position::ViewPosition;
    use super::super::view_queue::ViewQueue;
    use super::*;

    /// Longer than any test takes: it ends tests that hang.
    const LONG: Duration = Duration::from_secs(60);

    /// A request, and its answer.
    fn request(ask: Ask) -> (Mail, oneshot::Receiver<Answer>) {
        let (sender, answer) = oneshot::channel();
        (Mail::Inputs(vec![Input::Ask(ask, CallerScope::default(), sender)]), answer)
    }

    #[test]
    fn an_answer_that_is_held_while_the_store_is_busy_goes_out_when_it_has_finished() {
        let directory = tempfile::tempdir().unwrap();
        let tokio = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let options = Options { reserve_bytes: 0, ..Options::default() };
        let storage = rota_storage::open(directory.path(), options, &mut |_| ());
        let Storage { log, view } = storage.unwrap();
        let position = Arc::new(ViewPosition::new(log.tip().index));
        let queue = Arc::new(ViewQueue::new(1 << 20));
        let (mailbox, work) = (Arc::new(Mailbox::new(9, 1 << 20)), Arc::new(Queue::new(1)));
        let (committed, mut releases) = mpsc::unbounded_channel::<Release>();
        let resolver =
            Resolver::new(view.reader().unwrap(), tokio.handle().clone(), Arc::default());
        let clock = ClockDriver::start();
        let mut view_loop = ViewLoop {
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
            last_bytes: 0,
        };
        let (engine, loaded) = view_loop.load().unwrap();
        let mut engine_loop = EngineLoop {
            engine,
            clock,
            mailbox: mailbox.clone(),
            work,
            resolver,
            bodies: BodyCache::new(1_000),
            in_flight: InFlight::new(1),
            last_batch: loaded.number,
            event_count: loaded.event_count,
            batch: Batch::default(),
            release: Release::default(),
            deletions: 0,
            waiting: HashMap::default(),
            max_requests: 9,
            health: Health::default(),
            space_checked: Instant::now(),
            pacing: Pacing::default(),
            on_fatal: Box::new(|cause| panic!("{cause}")),
        };
        let threads = [
            std::thread::spawn(move || commit_loop.run()),
            std::thread::spawn(move || view_loop.run()),
        ];
        let mut released = || {
            let release = releases.blocking_recv().unwrap();
            release.answers.into_iter().for_each(|(sender, answer)| drop(sender.send(answer)));
        };
        // What the view reports is not waited for.
        let finished = || {
            loop {
                match mailbox.wait(Some(LONG), LONG, 9) {
                    Mail::StoreReport(StoreReport::Applied(..)) => {}
                    report => {
                        assert!(
                            matches!(report, Mail::StoreReport(_)),
                            "the log tells that it has finished"
                        );
                        return report;
                    }
                }
            }
        };
        let written = || Command::PauseQueue(QueueName::parse("q").unwrap()).into();
        let looked_up = || Ask::Explain(JobId::v7(0, 1));
        let kinds: [fn() -> Ask; 2] = [written, looked_up];
        for (first, second) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let (mail, mut first) = request(kinds[first]());
            engine_loop.handle(mail);
            released();
            assert!(first.try_recv().is_ok());
            // The engine thread has not read yet that the store has finished.
            let (mail, mut second) = request(kinds[second]());
            engine_loop.handle(mail);
            // No request and no timer comes to its help.
            let report = finished();
            assert!(engine_loop.work_is_held(), "the second waits for that");
            engine_loop.handle(report);
            assert!(!engine_loop.work_is_held());
            released();
            assert!(second.try_recv().is_ok());
            let report = finished();
            engine_loop.handle(report);
        }
        engine_loop.finish();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    impl<R> EngineLoop<R> {
        fn work_is_held(&self) -> bool {
            !self.release.is_empty()
        }
    }
}
