//! A seeded simulation of the engine over a store that fails and crashes.
//!
//! A run is determined by one number, its seed: the requests and their times, which commits fail, when the
//! process crashes, and what its clocks say. An oracle that shares no code with the engine checks the
//! requests, the replies and the store, and reports the first violation. Start reading at [`run_seed`].

mod clock;
mod memory_store;
mod oracle;
mod rebuild;
mod request;
mod rng;
mod runtime;
mod sabotage;
mod simulation;
mod trace;
mod trial;
mod workload;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use memory_store::MemoryStore;
pub use oracle::{Rule, Violation};
pub use sabotage::Sabotage;
use simulation::Simulation;
use trace::Trace;
pub use workload::Theme;

#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Steps of the simulation: each is one request, one step of the commit pipeline, or one fault.
    pub steps: u64,
    /// Print every line of the trace.
    pub verbose: bool,
    /// The theme of all runs; without it, each seed has its own.
    pub theme: Option<Theme>,
    /// A fault to inject.
    pub sabotage: Option<Sabotage>,
}

impl Default for Options {
    fn default() -> Self {
        Self { steps: 600, verbose: false, theme: None, sabotage: None }
    }
}

/// A run without a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    /// Of the whole trace.
    pub hash: u64,
    pub lines: u64,
}

/// A run with a violation.
#[derive(Debug, Clone)]
pub struct Failed {
    pub seed: u64,
    pub violation: Violation,
    /// The last lines of the trace.
    pub tail: Vec<String>,
}

/// Runs one seed.
pub fn run_seed(seed: u64, options: &Options) -> Result<Passed, Failed> {
    let mut trace = Trace::new(options.verbose);
    let run = AssertUnwindSafe(|| Simulation::new(seed, options, &mut trace).run());
    let violation = match catch_unwind(run) {
        Ok(Ok(())) => {
            return Ok(Passed { hash: trace.hash(), lines: trace.lines() });
        }
        Ok(Err(violation)) => violation,
        Err(panic) => {
            let message = format!("{} during {:?}", text_of(&*panic), trace.undone());
            Violation::new(Rule::Panic, message)
        }
    };
    let tail = trace.tail().map(str::to_owned).collect();
    Err(Failed { seed, violation, tail })
}

/// Runs the trials of one seed.
pub fn run_trials(seed: u64, options: &Options) -> Result<(), Failed> {
    let outcome = catch_unwind(|| trial::run(seed, options.sabotage));
    let outcome =
        outcome.unwrap_or_else(|panic| Err(Violation::new(Rule::Panic, text_of(&*panic))));
    outcome.map_err(|violation| Failed { seed, violation, tail: Vec::new() })
}

/// Runs one seed twice; both runs must be equal.
pub fn run_seed_twice(seed: u64, options: &Options) -> Result<Passed, Failed> {
    let first = run_seed(seed, options)?;
    let second = run_seed(seed, options)?;
    if first == second {
        return Ok(first);
    }
    Err(Failed {
        seed,
        violation: Violation::new(Rule::Determinism, format!("{first:?}, then {second:?}")),
        tail: Vec::new(),
    })
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".into())
}
