//! A scripted run, repeated with a failure of its first I/O call, its second, and so on.

use super::world::{Checked, World, now};
use crate::files::Files;
use crate::files::simulated::{Fault, SimulatedDisk};
use crate::{AppendError, Log, LogError};

#[test]
fn every_call_may_fail_with_an_io_error() {
    every_call_fails(Fault::Io);
}

#[test]
fn every_call_may_find_the_disk_full() {
    every_call_fails(Fault::Full);
}

#[test]
fn every_write_may_be_short() {
    every_call_fails(Fault::Short);
}

#[test]
fn the_power_may_go_out_at_every_call() {
    every_call_fails(Fault::PowerCut);
}

fn every_call_fails(fault: Fault) {
    for seed in 0..4 {
        let mut call = 0;
        while run(seed, call, fault, |disk| disk)
            .unwrap_or_else(|error| panic!("seed {seed}, call {call}, {fault:?}: {error}"))
        {
            call += 1;
        }
        assert!(call > 300, "the script has only {call} calls");
    }
}

/// Returns false if the script ended before the call was reached.
pub(super) fn run<F: Files>(
    seed: u64,
    call: u64,
    fault: Fault,
    wrap: impl FnOnce(SimulatedDisk) -> F,
) -> Checked<bool> {
    let mut world = World::new(seed, wrap);
    world.disk.fail_at(world.disk.calls() + call, fault);
    let ended = script(&mut world)?;
    let reached = world.disk.has_failed();
    if ended && fault == Fault::PowerCut && reached {
        return Err("the script went on without power".into());
    }
    if !ended && (fault == Fault::Short || !reached) {
        return Err("the log gave up without a reason".into());
    }
    world.log = None;
    world.disk.restart();
    world.open().map_err(|error| error.to_string())?;
    world.check()?;
    Ok(reached)
}

/// Returns false if the log became unusable.
fn script<F: Files>(world: &mut World<F>) -> Checked<bool> {
    for round in 0..3 {
        // An error while opening changes nothing, so opening again works.
        if world.open().is_err() && world.open().is_err() {
            return Ok(false);
        }
        if let Err(error) = world.check() {
            return if world.disk.has_failed() { Ok(false) } else { Err(error) };
        }
        for step in 0..30 {
            if !append(world)? {
                return Ok(false);
            }
            if step % 4 == 1 && !usable(now(world.log().settle()))? {
                return Ok(false);
            }
            if step % 9 == 8 {
                let below = world.log().tip().index - 3;
                world.history.needed = below;
                match now(world.log().truncate(below)) {
                    Err(LogError::Io(_)) if world.disk.has_failed() => {}
                    other => other.map_err(|error| error.to_string())?,
                }
            }
        }
        let log = world.log.take().expect("the log is open");
        if round == 1 && now(log.close()).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Appends a record, and once more if the disk was full the first time.
fn append<F: Files>(world: &mut World<F>) -> Checked<bool> {
    let entry = world.next_entry();
    let first = world.append_entry(entry.clone());
    if !matches!(first, Err(AppendError::Full(_))) {
        return usable(first);
    }
    // The failed attempt must leave nothing behind that a shorter record does not cover.
    let mut shorter = entry;
    shorter.payload.truncate(shorter.payload.len() / 2);
    match world.append_entry(shorter) {
        Ok(()) => Ok(true),
        Err(error) => Err(format!("the log is unusable after the disk was full: {error}")),
    }
}

fn usable(outcome: Result<(), AppendError>) -> Checked<bool> {
    match outcome {
        Ok(()) | Err(AppendError::Full(_)) => Ok(true),
        Err(AppendError::Fatal(_)) => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}
