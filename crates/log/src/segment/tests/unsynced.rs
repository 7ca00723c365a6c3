//! Without syncs, the end of the process costs nothing and a power cut only the newest records.

use std::path::Path;

use super::world::{DIRECTORY, World, now};
use crate::files::Files;
use crate::{Durability, Log, LogError};

#[test]
fn the_end_of_the_process_costs_nothing() {
    for seed in 0..50 {
        let mut world = World::new(seed, |disk| disk);
        world.durability = Durability::Os;
        for _ in 0..5 {
            world.open().expect("the log opens");
            assert_eq!(world.log().dropped(), None);
            world.check().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            for _ in 0..20 {
                world.step().expect("the disk works");
            }
        }
    }
}

#[test]
fn a_power_cut_costs_only_the_newest_records() {
    let (mut dropped, mut kept) = (0, 0);
    for seed in 0..1_000 {
        let mut world = World::new(seed, |disk| disk);
        world.durability = Durability::Os;
        // Otherwise the whole directory may be gone.
        world.disk.create_dir(Path::new(DIRECTORY)).expect("the disk works");
        world.disk.sync_dir(Path::new("/data")).expect("the disk works");
        world.open().expect("the log opens");
        for _ in 0..world.rng.u8(1..30) {
            world.append().expect("the disk works");
        }
        world.log = None;
        world.disk.restart();
        match world.open() {
            Ok(()) => {}
            // The first segment is gone, and a later one is not.
            Err(LogError::Range(_)) => continue,
            Err(error) => panic!("seed {seed}: {error}"),
        }
        dropped += u32::from(world.log().dropped().is_some());
        let tip = world.log().tip().index as usize;
        kept += u32::from(tip > 0);
        world.history.acknowledged.truncate(tip);
        world.check().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        world.append().expect("the log goes on");
        now(world.log().settle()).expect("the log goes on");
        world.open().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        world.check().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    assert!(dropped > 100 && kept > 100, "{dropped} were cut, {kept} have records");
}

#[test]
fn damage_is_not_mistaken_for_loss() {
    let mut world = World::new(1, |disk| disk);
    world.durability = Durability::Os;
    world.open().expect("the log opens");
    for _ in 0..30 {
        world.append().expect("the disk works");
    }
    let segment = world.log().segments()[1].path.clone();
    world.log = None;
    world.disk.change(&segment, |content| content[700] ^= 1);
    let opened = world.open();
    assert!(matches!(opened, Err(LogError::Damaged(_))), "{opened:?}");
}
