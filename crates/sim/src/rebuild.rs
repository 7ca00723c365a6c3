//! An engine rebuilt from the store goes on exactly as the one that it replaces would have.

use rota_engine::{Claimed, Command, Engine, Fetch, QueueSettings, Reply, WaiterId};
use rota_model::QueueName;

use crate::oracle::{Check, Rule, Violation};
use crate::runtime::Runtime;

const MOST_ROUNDS: usize = 10_000;

/// Drains the engine and a second one made from the store, and compares. Nothing may be in flight.
/// The engine is of no use afterwards and must be rebuilt.
pub(crate) fn check(runtime: &mut Runtime, waiting: &[WaiterId], seed: u64) -> Check {
    let now = runtime.engine().now();
    let mut second = runtime.rebuilt(now, seed).map_err(differ)?;
    let first = runtime.engine_mut();
    let present = Command::Tick(first.now());
    both(first, &mut second, seed, present);
    for id in waiting {
        both(first, &mut second, seed, Command::StopWaiting(*id));
    }
    compare("queues", &shown(first), &shown(&second))?;
    let queues: Vec<_> = first.queues().into_iter().map(|view| view.name).collect();
    for command in openings(&queues) {
        both(first, &mut second, seed, command);
    }
    for round in 0..MOST_ROUNDS {
        let fetch = Fetch {
            queues: queues.clone(),
            count: 1 + round % 3,
            worker: None,
            pool: None,
            tenant: None,
            preference: None,
            visibility_ms: None,
            wait: None,
        };
        let ours = fetched(first, fetch.clone(), seed);
        let theirs = fetched(&mut second, fetch, seed);
        compare("next jobs", &ours, &theirs)?;
        if ours.is_empty() {
            break;
        }
    }
    compare("queues, drained", &shown(first), &shown(&second))
}

/// What is due happens to both alike.
fn both(first: &mut Engine, second: &mut Engine, seed: u64, command: Command) {
    first.apply(seed, command.clone());
    second.apply(seed, command);
}

/// Everything that stands in the way of handing out jobs is removed.
fn openings(queues: &[QueueName]) -> Vec<Command> {
    let maintenance = Command::Maintain { enabled: false, reason: None, expected_ms: None };
    let mut commands = vec![maintenance];
    for queue in queues {
        commands.push(Command::ResumeQueue(queue.clone()));
        let open = QueueSettings::default();
        commands.push(Command::ConfigureQueue(queue.clone(), open));
    }
    commands
}

fn fetched(engine: &mut Engine, fetch: Fetch, seed: u64) -> Vec<Claimed> {
    match engine.apply(seed, Command::Fetch(fetch)) {
        // Fresh means that no process has ended since, so a rebuilt engine must differ in that.
        Reply::Fetched(claims) => {
            claims.into_iter().map(|c| Claimed { fresh: false, ..c }).collect()
        }
        _ => Vec::new(),
    }
}

/// What people see of an engine, statistics and times of sight left out.
fn shown(engine: &Engine) -> Vec<String> {
    let queues = engine.queues().into_iter().map(|view| {
        let (name, totals) = (view.name, view.totals);
        format!("{name} {:?} {:?} {totals:?}", view.paused, view.settings)
    });
    let workers = engine.workers().into_iter().map(|view| {
        let (about, jobs) = (view.about, view.jobs);
        format!("{about:?} {:?} {} {jobs:?}", view.directive, view.beats)
    });
    let crons = engine.crons().into_iter().map(|view| format!("{view:?}"));
    let active = engine.active().into_iter().map(|view| format!("{view:?}"));
    let frozen = format!("{:?}", engine.maintenance());
    queues
        .chain(workers)
        .chain(crons)
        .chain(active)
        .chain([frozen, format!("{:?}", engine.next_seq())])
        .collect()
}

fn compare<T: std::fmt::Debug + PartialEq>(what: &str, ours: &[T], theirs: &[T]) -> Check {
    if ours == theirs {
        return Ok(());
    }
    let pair = ours.iter().zip(theirs).find(|(a, b)| a != b);
    let lengths = (ours.len(), theirs.len());
    Err(differ(format!("{what} differ: {pair:?}, lengths {lengths:?}")))
}

fn differ(message: String) -> Violation {
    Violation::new(Rule::Rebuild, message)
}
