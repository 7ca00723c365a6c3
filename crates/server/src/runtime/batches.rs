//! Batches: collected by the engine thread, submitted to the log, committed or not written.

use std::time::{Duration, Instant};

use rota_store::Batch;

use super::ask::{Answer, Unavailable};
use super::commit_loop::{StoreReport, Work};
use super::engine_loop::EngineLoop;

/// How often a full disk is checked for space.
const SPACE_CHECK_INTERVAL: Duration = Duration::from_secs(2);

impl EngineLoop {
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
                self.in_flight.reset(loaded.number);
                self.resolver.reset();
                // The seqs of jobs that were not written will be assigned again.
                self.bodies.clear();
                // Reports about the batches after the failed one are out of date.
                self.mailbox.discard_store_reports();
            }
            Ok(Err(error)) => (self.on_fatal)(&error.message),
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
    use rota_engine::Command;
    use rota_model::QueueName;

    use super::super::ask::Ask;
    use super::super::mailbox::Mail;
    use super::super::test_runtime::{LONG, TestRuntime};
    use super::*;

    /// What the view reports is not waited for.
    fn finished(runtime: &TestRuntime) -> Mail {
        loop {
            match runtime.mailbox.wait(Some(LONG), LONG, 9, 0) {
                Mail::StoreReport(StoreReport::Applied(..)) => {}
                report => {
                    let is_report = matches!(report, Mail::StoreReport(_));
                    assert!(is_report, "the log tells that it has finished");
                    return report;
                }
            }
        }
    }

    #[test]
    fn an_answer_that_is_held_while_the_store_is_busy_goes_out_when_it_has_finished() {
        let mut runtime = TestRuntime::start();
        let written = || Command::PauseQueue(QueueName::parse("q").unwrap()).into();
        let unwritten = || Ask::TrimAudit(1);
        let kinds: [fn() -> Ask; 2] = [written, unwritten];
        for (first, second) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut first = runtime.ask(kinds[first]());
            runtime.release();
            assert!(first.try_recv().is_ok());
            // The engine thread has not read yet that the store has finished.
            let mut second = runtime.ask(kinds[second]());
            // No request and no timer comes to its help.
            let report = finished(&runtime);
            assert!(runtime.engine_loop.work_is_held(), "the second waits for that");
            runtime.engine_loop.handle(report);
            assert!(!runtime.engine_loop.work_is_held());
            runtime.release();
            assert!(second.try_recv().is_ok());
            let report = finished(&runtime);
            runtime.engine_loop.handle(report);
        }
        runtime.stop();
    }

    impl EngineLoop {
        fn work_is_held(&self) -> bool {
            !self.release.is_empty()
        }
    }
}
