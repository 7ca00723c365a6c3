//! The rules that a run can violate.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// A job that was acknowledged is gone, or the store does not hold what was committed.
    Lost,
    /// What the view has of a job, with what is on its way there, is not what was decided.
    InFlight,
    /// A job was completed more than once.
    CompletedTwice,
    /// A job was taken from its worker, or handed to another, before its time.
    HandedTwice,
    /// A state transition that the lifecycle does not allow.
    Transition,
    /// A number shown is not the number of jobs there are.
    Counts,
    /// The number of attempts does not match the executions.
    Attempts,
    /// Another job should have been dispatched.
    Order,
    /// A job started before its time or after its deadline, or did not start when due.
    Time,
    /// A job was dispatched despite a pause, a limit or maintenance mode.
    Gate,
    /// More starts, or earlier ones, than a rate limit allows.
    Limit,
    /// A tenant got more than its share.
    Fair,
    /// A tenant got more than its share of all queues of a pool or fetch.
    FairAcross,
    /// A tenant was throttled without a reason, was not throttled, or was throttled wrongly.
    Throttle,
    /// A queue got less than it is guaranteed.
    Starved,
    /// A tenant was served from its other queues for too long.
    PassedOver,
    /// More or fewer jobs were accepted than a quota or a bound allows.
    Quota,
    /// A fetch was not answered, or was answered twice.
    Waiting,
    /// A schedule ran when it should not have, or did not when it should.
    Cron,
    /// The audit log does not say what was done, or its chain is broken.
    Audit,
    /// A reply does not match what happened.
    Reply,
    /// A change that no request asked for.
    Unasked,
    /// The store rejected a batch.
    Store,
    /// A command took more steps than its size and its results justify.
    Cost,
    /// A restart would change what the engine does next.
    Rebuild,
    /// The same seed gave two different runs.
    Determinism,
    /// The engine panicked.
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
