//! Whatever happens to an archive, it has no gap, nothing foreign and nothing that was not committed.

use std::path::Path;

use super::world::{DIRECTORY, World, now};
use crate::files::Files;
use crate::files::simulated::{Fault, SimulatedDisk};
use crate::{ArchiveError, ArchiveWriter, Base, Entry, History, Log};

const ARCHIVE: &str = "/archive";

fn with_archive(seed: u64) -> World<SimulatedDisk> {
    let world = World::new(seed, |disk| disk);
    world.disk.create_dir(Path::new(ARCHIVE)).unwrap();
    world.disk.sync_dir(Path::new("/")).unwrap();
    world
}

fn writer(world: &World<SimulatedDisk>) -> ArchiveWriter<SimulatedDisk> {
    ArchiveWriter::new_with(world.disk.clone(), Path::new(DIRECTORY), Path::new(ARCHIVE))
}

fn archived(world: &World<SimulatedDisk>) -> Vec<Entry> {
    let history =
        History::newest_with(world.disk.clone(), &[Path::new(ARCHIVE)]).expect("it is readable");
    let mut reader = history.read_after(Base::default()).expect("it begins at the beginning");
    let mut entries = Vec::new();
    while let Some(records) = reader.next_records().expect("it has no gap") {
        entries.extend(records.into_iter().map(|record| record.entry));
    }
    entries
}

/// The power goes out at every call, the log goes on, and the archive catches up.
#[test]
fn an_archive_survives_a_power_cut_at_every_call() {
    let mut cut = 0;
    for seed in 0..400 {
        let mut world = with_archive(seed);
        let mut needed = 1;
        for round in 0..4 {
            world.open().expect("the log opens");
            world.check().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let mut writer = writer(&world);
            let fault = world.disk.calls() + world.rng.u64(1..300);
            world.disk.fail_at(fault, Fault::PowerCut);
            for _ in 0..world.rng.u8(1..30) {
                if world.append().is_err() {
                    break;
                }
                let committed = world.log().tip().index;
                let with_open = world.rng.u8(..4) == 0;
                if let Ok(index) = writer.advance(committed, with_open) {
                    assert!(index <= committed + 1, "seed {seed}, round {round}");
                    needed = needed.max(index);
                    // What is archived may be given up.
                    let below = index.min(committed);
                    world.history.needed = world.history.needed.max(below);
                    if now(world.log().truncate(below)).is_err() {
                        break;
                    }
                }
            }
            cut += u32::from(world.disk.has_failed());
            world.log = None;
            world.disk.restart();
            let promised = needed as usize - 1;
            let archived = archived(&world);
            assert!(archived.len() >= promised, "seed {seed}, round {round}: a record is gone");
            world.open().expect("the log opens");
            world.check().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert!(
                world.history.acknowledged.starts_with(&archived),
                "seed {seed}, round {round}: the archive has what the log has not"
            );
        }
    }
    assert!(cut > 500, "the power went out {cut} times");
}

#[test]
fn a_full_archive_is_reported_and_catches_up() {
    let mut full = 0;
    for seed in 0..12 {
        let mut world = with_archive(seed);
        world.open().expect("the log opens");
        while world.log().segments().len() < 4 {
            world.append().expect("the disk works");
        }
        let committed = world.log().tip().index;
        for call in 0.. {
            world.disk.fail_at(world.disk.calls() + call, Fault::Full);
            let mut writer = writer(&world);
            match writer.advance(committed, true) {
                Ok(_) => {}
                Err(ArchiveError::Full(_)) => full += 1,
                Err(ArchiveError::Io(_)) => {}
                Err(error) => panic!("seed {seed}: {error}"),
            }
            let was_reached = world.disk.has_failed();
            assert!(world.history.acknowledged.starts_with(&archived(&world)), "seed {seed}");
            assert_eq!(writer.advance(committed, true).expect("there is room"), committed + 1);
            assert_eq!(archived(&world), world.history.acknowledged, "seed {seed}, call {call}");
            for path in world.disk.paths() {
                assert!(path.extension().is_none_or(|ending| ending != "partial"), "{path:?}");
                if path.starts_with(ARCHIVE) {
                    world.disk.remove(&path).unwrap();
                }
            }
            if !was_reached {
                break;
            }
        }
    }
    assert!(full > 100, "the archive was full {full} times");
}

#[test]
fn a_damaged_copy_is_replaced_and_a_foreign_one_is_not() {
    let mut world = with_archive(7);
    world.open().expect("the log opens");
    while world.log().segments().len() < 3 {
        world.append().expect("the disk works");
    }
    let committed = world.log().tip().index;
    writer(&world).advance(committed, true).expect("it is archived");
    let copy = Path::new(ARCHIVE).join(world.log().segments()[0].path.file_name().unwrap());
    let sound = world.disk.content(&copy);
    world.disk.change(&copy, |content| content[700] ^= 1);
    writer(&world).advance(committed, true).expect("it is archived again");
    assert_eq!(world.disk.content(&copy), sound);

    // Another server that began like this one.
    let other = {
        let mut other = with_archive(8);
        other.open().expect("the log opens");
        while other.log().segments().len() < 2 {
            other.append().expect("the disk works");
        }
        writer(&other).advance(other.history.acknowledged.len() as u64, true).expect("archived");
        other.disk.content(&copy)
    };
    world.disk.change(&copy, |content| content.clone_from(&other));
    let refused = writer(&world).advance(committed, true);
    assert!(matches!(refused, Err(ArchiveError::Conflict { .. })), "{refused:?}");
    assert_eq!(world.disk.content(&copy), other, "it is left as it is");
}

#[test]
fn a_damaged_log_is_not_archived() {
    let mut world = with_archive(9);
    world.open().expect("the log opens");
    while world.log().segments().len() < 3 {
        world.append().expect("the disk works");
    }
    let committed = world.log().tip().index;
    let segment = world.log().segments()[1].clone();
    world.disk.change(&segment.path, |content| content[600] ^= 1);
    let mut writer = writer(&world);
    let refused = writer.advance(committed, true);
    assert!(matches!(refused, Err(ArchiveError::SourceDamaged(_))), "{refused:?}");
    assert_eq!(writer.needed().unwrap(), Some(segment.first), "what precedes it is archived");
    assert_eq!(archived(&world).len() as u64, segment.first - 1);
}

/// The server of a history that a restore has abandoned runs on.
#[test]
fn an_older_term_is_refused() {
    let mut world = with_archive(10);
    world.open().expect("the log opens");
    world.append().expect("the disk works");
    let name = "00000000000000000009-00000000000000000001.segment";
    drop(world.disk.create(&Path::new(ARCHIVE).join(name)).unwrap());
    let refused = writer(&world).advance(1, true);
    assert!(matches!(refused, Err(ArchiveError::NewerTerm { newest: 9, .. })), "{refused:?}");
}
