//! The power goes out at any call. Nothing acknowledged is lost, and nothing is invented.

use std::path::Path;

use super::world::{Checked, DIRECTORY, World};
use crate::Prepare;
use crate::files::Files;
use crate::files::simulated::{Fault, SimulatedDisk};

#[test]
fn nothing_acknowledged_is_lost_in_a_power_cut() {
    let mut torn = 0;
    for seed in 0..4_000 {
        torn += run(seed, |disk| disk).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    assert!(torn > 500, "only {torn} records were torn");
}

#[test]
fn a_power_cut_while_a_thread_prepares_segments_loses_nothing() {
    for seed in 0..300 {
        let mut world = World::new(seed, |disk| disk);
        world.prepare = Prepare::Background;
        cut_repeatedly(&mut world).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}

/// Where disks break their promise, a power cut may look like damage, but the repair loses nothing.
#[test]
fn nothing_acknowledged_is_lost_where_sectors_are_torn() {
    let mut repaired = 0;
    for seed in 10_000..11_000 {
        let mut world = World::new(seed, |disk| disk);
        world.disk.set_tearing(true);
        for _ in 0..4 {
            world.open().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            world.check().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let cut = world.disk.calls() + world.rng.u64(..40);
            world.disk.fail_at(cut, Fault::PowerCut);
            while world.step().is_ok() {}
            world.log = None;
            world.disk.restart();
            match crate::cut_at_damage_with(&world.disk, Path::new(DIRECTORY)) {
                Ok(removed) => repaired += u32::from(removed.is_some()),
                Err(error) => panic!("seed {seed}: {error}"),
            }
        }
    }
    assert!(repaired > 50, "only {repaired} logs had a torn sector");
}

/// Several power cuts in one history. Returns how many torn records were found.
pub(super) fn run<F: Files>(seed: u64, wrap: impl FnOnce(SimulatedDisk) -> F) -> Checked<u32> {
    cut_repeatedly(&mut World::new(seed, wrap))
}

fn cut_repeatedly<F: Files>(world: &mut World<F>) -> Checked<u32> {
    let mut torn = 0;
    for _ in 0..6 {
        // While it is opened, at the first appends, which may follow a torn one, or at any time.
        let within = [20, 4, 120][world.rng.usize(..3)];
        let cut = world.rng.u64(..within);
        if within == 20 {
            world.disk.fail_at(world.disk.calls() + cut, Fault::PowerCut);
        }
        if world.open().is_ok() && world.check().is_ok() {
            if within != 20 {
                world.disk.fail_at(world.disk.calls() + cut, Fault::PowerCut);
            }
            while world.step().is_ok() {}
        }
        if !world.disk.has_failed() {
            return Err("the log failed while the power was on".into());
        }
        world.log = None;
        world.disk.restart();
        let report = crate::inspect_with(&world.files, Path::new(DIRECTORY));
        torn += u32::from(report.is_ok_and(|report| report.torn));
        world.open().map_err(|error| error.to_string())?;
        world.check()?;
        if world.rng.u8(..6) == 0 {
            go_back(world)?;
        }
    }
    Ok(torn)
}

/// Abandons a part of the history, as a restored backup does. Spare files still hold records of it.
fn go_back<F: Files>(world: &mut World<F>) -> Checked {
    world.log = None;
    let directory = Path::new(DIRECTORY);
    crate::set_aside_with(&world.files, directory).map_err(|error| error.to_string())?;
    let newest = world.history.acknowledged.len();
    world.history.acknowledged.truncate(world.rng.usize(..=newest));
    world.history.needed = world.history.acknowledged.len() as u64 + 1;
    world.open().map_err(|error| error.to_string())?;
    world.check()
}
