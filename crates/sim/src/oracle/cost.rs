//! Bounds the steps that a command may take: in proportion to what it names and what results from it,
//! independent of everything else in the engine.

use rota_engine::Command;

use super::violation::{Check, Rule, ensure};

/// What any command may cost. Time alone may bring up to 256 timers of limits.
const BASE: u64 = 400;
/// What each thing that it names, or that comes of it, may add.
const EACH: u64 = 20;
/// The most that may come of time passing before others are served.
const SLICE: usize = 5_000;

/// `effects` is how many mutations, events and answers came of the command, `steps` what it cost.
pub(crate) fn check_cost(command: &Command, effects: usize, steps: u64) -> Check {
    let Some(named) = named_by(command) else { return Ok(()) };
    let most = BASE + EACH * (named + effects) as u64;
    ensure(steps <= most, Rule::Cost, || {
        format!("{effects} effects took {steps} steps, not {most}: {command:?}")
    })?;
    let tick = matches!(command, Command::Tick(_) | Command::Resume(_));
    ensure(!tick || effects <= SLICE, Rule::Cost, || format!("{effects} effects in one slice"))
}

/// How many jobs or queues a client's command names; `None` for operators, who may change things for
/// everything that waits.
fn named_by(command: &Command) -> Option<usize> {
    match command {
        Command::Enqueue(enqueue) => Some(enqueue.jobs.len()),
        Command::Fetch(fetch) => Some(fetch.queues.len()),
        Command::Settle(all) => Some(all.len()),
        Command::Beat(beat) => Some(beat.jobs.len()),
        Command::Undelivered(undelivered) => Some(undelivered.claims.len()),
        Command::Cancel(targets)
        | Command::RequestCancel(targets)
        | Command::Activate(targets)
        | Command::SetPriority(targets, _)
        | Command::Retry(targets)
        | Command::RetryOnly(targets, _)
        | Command::RetryAs(targets, _)
        | Command::Delete(targets)
        | Command::DeleteOnly(targets, _) => Some(targets.len()),
        Command::Prune(prune) => Some(prune.jobs.len()),
        Command::Replay(due) => Some(due.len()),
        Command::StopWaiting(_) | Command::Register(_) => Some(1),
        Command::Tick(_) | Command::Resume(_) => Some(0),
        _ => None,
    }
}
