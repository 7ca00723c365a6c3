//! Injects crashes and failed commits.

use super::Simulation;
use crate::oracle::{Check, Rule, Violation};
use crate::runtime::Crash;

impl Simulation<'_> {
    /// The process dies or the power goes, at whatever point its batches are, and another process takes its place.
    pub(super) fn crash(&mut self) -> Check {
        if self.rng.percent(20) {
            self.settle()?;
        }
        if self.runtime.is_idle() {
            self.check_rebuild()?;
        }
        self.die();
        // A start may be cut off like anything else, and begins again.
        while self.rng.percent(20) {
            if self.rng.percent(70) {
                let most = self.rng.below(3);
                self.recover(most)?;
            }
            self.die();
        }
        self.clock.pass(self.rng.one_of([0, 20, 5_000, 60_000]));
        self.clock.restart(self.rng.below(1_000_000));
        self.recover(u64::MAX)?;
        self.start_over()
    }

    fn die(&mut self) {
        let crash = if self.rng.percent(50) { Crash::PowerCut } else { Crash::Killed };
        let survives = self.rng.percent(50);
        self.trace.line(format_args!("{crash:?}, what is not synced survives: {survives}"));
        self.runtime.crash(crash, survives);
        self.reads.clear();
    }

    /// A start opens the log and applies up to so many records to the view.
    fn recover(&mut self, most: u64) -> Check {
        if let Some(batch) = self.runtime.open_log() {
            self.trace.line(format_args!("{} is committed", batch.number));
            self.oracle.committed(&batch)?;
        }
        let failed = |problem| Violation::new(Rule::Rebuild, problem);
        self.runtime.replay(most).map_err(failed)
    }

    /// A commit fails cleanly: the engine is rebuilt in the same process, when the view has what is committed.
    pub(super) fn disk_full(&mut self) -> Check {
        while self.runtime.view().lag() > 0 {
            self.go_on_with_view()?;
        }
        while self.runtime.has_answers() {
            self.release()?;
        }
        self.trace.line(format_args!("disk full"));
        self.runtime.discard_reports();
        self.start_over()
    }

    fn start_over(&mut self) -> Check {
        let now = self.clock.now();
        self.runtime.restart(now).map_err(|problem| Violation::new(Rule::Rebuild, problem))?;
        self.clock.not_before(self.runtime.engine().now().wall);
        self.workload.lost();
        self.reads.clear();
        let at = self.clock.elapsed();
        self.oracle.restarted(at, now, self.runtime.view().store())?;
        // Nothing has been applied yet, so what is overdue may still be.
        self.oracle.shown(self.runtime.engine())
    }
}
