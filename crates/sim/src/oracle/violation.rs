//! What an oracle may object to.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// A job that was acknowledged is gone, or the store does not hold what was committed.
    Lost,
    /// A job was completed more than once.
    CompletedTwice,
    /// A job was taken from its worker, or handed to another, before its time.
    HandedTwice,
    /// A step that the lifecycle does not know.
    Transition,
    /// A number shown is not the number of jobs there are.
    Counts,
    /// Attempts do not follow executions.
    Attempts,
    /// Not the job whose turn it was.
    Order,
    /// Before its time, after its deadline, or not when it was due.
    Time,
    /// Handed out although a pause, a limit or an operator forbade it.
    Gate,
    /// More or sooner than a limit allows.
    Limit,
    /// A tenant got more than its share.
    Fair,
    /// A tenant got more than its share of all queues of a pool or fetch.
    FairAcross,
    /// A tenant was throttled without a reason, or not when it should have been, or not as it should.
    Throttle,
    /// A queue got less than it is guaranteed.
    Starved,
    /// A tenant was served from its other queues for too long.
    PassedOver,
    /// More came in than a quota or a bound allows, or less.
    Quota,
    /// A fetch without its answer, or with two.
    Waiting,
    /// A schedule ran when it should not have, or did not when it should.
    Cron,
    /// The audit log does not say what was done, or its chain is broken.
    Audit,
    /// An answer does not say what happened.
    Reply,
    /// Something changed for which nobody asked.
    Unasked,
    /// The store had to refuse a batch.
    Store,
    /// A command took more steps than what it does is worth.
    Cost,
    /// A restart would change what happens next.
    Rebuild,
    /// The same seed gave two different runs.
    Determinism,
    /// The engine gave up.
    Panic,
}

#[derive(Debug, Clone)]
pub struct Violation {
    pub rule: Rule,
    pub message: String,
}

pub type Check = Result<(), Violation>;

impl Violation {
    pub fn new(rule: Rule, message: impl Into<String>) -> Self {
        Self { rule, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.message)
    }
}

/// Objects unless it holds. The message is made only then.
pub fn ensure(holds: bool, rule: Rule, message: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(Violation::new(rule, message())) }
}
