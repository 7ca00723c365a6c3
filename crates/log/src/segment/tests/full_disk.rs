//! A full disk refuses records and costs nothing else.

use super::world::{World, now};
use crate::{AppendError, Log, Prepare};

#[test]
fn a_full_disk_refuses_records_until_there_is_space() {
    for prepare in [Prepare::InLine, Prepare::Background] {
        for seed in 0..50 {
            let mut world = World::new(seed, |disk| disk);
            world.prepare = prepare;
            world.open().expect("the log opens");
            for _ in 0..20 {
                world.append().expect("there is space");
            }
            world.disk.set_full(true);
            let room = world.log().room();
            let before = world.history.acknowledged.len();
            let refused = (0..200).filter(|_| is_full(world.append())).count();
            assert!(refused > 0, "seed {seed}: prepared segments end");
            let appended = &world.history.acknowledged[before..];
            let bytes: u64 = appended.iter().map(|entry| entry.payload.len() as u64).sum();
            // A segment may have been on its way.
            assert!(bytes < room + (16 << 10), "{bytes} bytes were appended, {room} have room");
            now(world.log().settle()).expect("there is always space for the mark");
            world.check().expect("what was acknowledged is there");

            world.disk.set_full(false);
            for _ in 0..20 {
                world.append().expect("there is space");
            }
            world.log = None;
            world.disk.restart();
            world.open().expect("the log opens");
            world.check().expect("what was acknowledged is there");
        }
    }
}

#[test]
fn truncated_segments_are_used_on_a_full_disk() {
    for seed in 0..50 {
        let mut world = World::new(seed, |disk| disk);
        world.open().expect("the log opens");
        while world.log().segments().len() < 8 {
            world.append().expect("there is space");
        }
        world.disk.set_full(true);
        for round in 0..30 {
            // Larger ones would need more space than a segment has.
            let mut entry = world.next_entry();
            entry.payload.truncate(10_000);
            if let Err(error) = world.append_entry(entry.clone()) {
                assert!(matches!(error, AppendError::Full(_)), "{error}");
                let below = world.log().tip().index;
                world.history.needed = below;
                now(world.log().truncate(below)).expect("truncating needs no space");
                world.append_entry(entry).unwrap_or_else(|error| panic!("{seed} {round}: {error}"));
            }
        }
        world.log = None;
        world.disk.restart();
        world.open().expect("the log opens");
        world.check().expect("what was acknowledged is there");
    }
}

fn is_full(appended: Result<(), AppendError>) -> bool {
    match appended {
        Ok(()) => false,
        Err(AppendError::Full(_)) => true,
        Err(error) => panic!("{error}"),
    }
}
