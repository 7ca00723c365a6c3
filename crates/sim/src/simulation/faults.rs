//! Injects crashes and failed commits.

use super::Simulation;
use crate::oracle::{Check, Rule, Violation};

impl Simulation<'_> {
    /// The process dies, at whatever point its batches are, and another takes its place.
    pub(super) fn crash(&mut self) -> Check {
        if self.runtime.is_idle() {
            self.check_rebuild()?;
        }
        self.clock.pass(self.rng.one_of([0, 20, 5_000, 60_000]));
        self.clock.restart(self.rng.below(1_000_000));
        self.trace.line(format_args!("crash"));
        self.start_over()
    }

    /// A commit fails cleanly: the engine is rebuilt in the same process.
    pub(super) fn disk_full(&mut self) -> Check {
        while self.runtime.newest_commit().is_some() {
            self.report()?;
        }
        self.trace.line(format_args!("disk full"));
        self.start_over()
    }

    fn start_over(&mut self) -> Check {
        let now = self.clock.now();
        self.runtime.restart(now).map_err(|problem| Violation::new(Rule::Rebuild, problem))?;
        self.workload.lost();
        let at = self.clock.elapsed();
        self.oracle.restarted(at, now, self.runtime.store())?;
        // Nothing has been applied yet, so what is overdue may still be.
        self.oracle.shown(self.runtime.engine())
    }
}
