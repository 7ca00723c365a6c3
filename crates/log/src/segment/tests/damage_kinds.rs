//! Damage beyond single blocks: missing and foreign segments, and terms that go back.

use std::path::{Path, PathBuf};

use super::world::{DIRECTORY, World};
use crate::files::simulated::SimulatedDisk;
use crate::files::{FileHandle, Files};
use crate::segment::block::BLOCK;
use crate::segment::header::SegmentHead;
use crate::segment::name::SegmentName;
use crate::segment::record::{RecordHead, Slot, encode};
use crate::{Damage, DamageKind, Entry, Log, LogError, inspect_with};

/// A log with 20 records of 4,000 bytes: one in the first segment, three in each of the others.
fn world(fill: u8) -> World<SimulatedDisk> {
    let mut world = World::new(1, |disk| disk);
    world.open().expect("the log opens");
    for _ in 0..20 {
        let tip = world.log().tip();
        let payload = vec![fill; 4_000].into();
        let entry = Entry { index: tip.index + 1, term: 0, time: 0, payload };
        world.append_entry(entry).expect("the disk works");
    }
    world
}

fn paths(world: &mut World<SimulatedDisk>) -> Vec<PathBuf> {
    world.log().segments().into_iter().map(|segment| segment.path).collect()
}

fn damage(world: &mut World<SimulatedDisk>) -> Damage {
    match world.open() {
        Err(LogError::Damaged(damage)) => {
            let report = inspect_with(&world.disk, Path::new(DIRECTORY)).expect("it is inspected");
            assert_eq!(report.damage.first(), Some(&*damage), "both find the same");
            *damage
        }
        other => panic!("the damage was overlooked: {other:?}"),
    }
}

#[test]
fn a_missing_segment_is_a_gap() {
    let mut world = world(1);
    let paths = paths(&mut world);
    let segments = world.log().segments();
    world.log = None;
    world.disk.remove(&paths[2]).expect("the disk works");
    let damage = damage(&mut world);
    assert_eq!((damage.index, damage.kind), (segments[2].first, DamageKind::Missing));
    assert_eq!(damage.following, Some(20 - segments[2].last));
}

#[test]
fn a_segment_of_another_log_does_not_follow() {
    let mut world = world(1);
    let mut other = self::world(2);
    let paths = paths(&mut world);
    let segments = world.log().segments();
    world.log = None;
    other.log = None;
    let foreign = other.disk.content(&paths[2]);
    world.disk.change(&paths[2], |content| *content = foreign);
    let damage = damage(&mut world);
    assert_eq!((damage.index, damage.kind), (segments[2].first, DamageKind::Chain));
}

#[test]
fn a_segment_under_another_name_is_reported() {
    let mut world = world(1);
    let paths = paths(&mut world);
    let segments = world.log().segments();
    world.log = None;
    let foreign = world.disk.content(&paths[3]);
    world.disk.change(&paths[2], |content| *content = foreign);
    let damage = damage(&mut world);
    assert_eq!((damage.index, damage.kind), (segments[2].first, DamageKind::Missing));
}

#[test]
fn a_term_that_goes_back_is_reported() {
    let mut world = World::new(1, |disk| disk);
    world.open().expect("the log opens");
    for index in 1..=2 {
        let entry = Entry { index, term: 5, time: 0, payload: "x".into() };
        world.append_entry(entry).expect("the disk works");
    }
    let path = paths(&mut world).remove(0);
    world.log = None;
    world.disk.change(&path, |content| {
        let salt = SegmentHead::parse(&content[..BLOCK]).expect("a header").salt;
        let previous = RecordHead::parse(&content[BLOCK..2 * BLOCK]).checksum;
        let entry = Entry { index: 2, term: 4, time: 0, payload: "x".into() };
        let mut blocks = Vec::new();
        encode(&entry, previous, Slot { salt, position: 2, attempt: 1 }, &mut blocks);
        content[2 * BLOCK..3 * BLOCK].copy_from_slice(&blocks);
    });
    let damage = damage(&mut world);
    assert_eq!((damage.index, damage.kind), (2, DamageKind::Term));
}

#[test]
fn two_segments_with_the_same_record_are_reported() {
    let mut world = world(1);
    let paths = paths(&mut world);
    let segments = world.log().segments();
    world.log = None;
    let content = world.disk.content(&paths[2]);
    let name = SegmentName { first: segments[2].first, term: 7 };
    let copy = world.disk.create(&Path::new(DIRECTORY).join(name.to_string()));
    let written = copy.and_then(|file| file.write_at(&content, 0));
    assert_eq!(written.expect("the disk works"), content.len());
    let damage = damage(&mut world);
    assert_eq!((damage.index, damage.kind), (segments[2].first, DamageKind::Overlap));
}

#[test]
fn what_is_behind_the_end_of_a_closed_segment_does_not_matter() {
    let mut world = world(1);
    let paths = paths(&mut world);
    world.log = None;
    for path in &paths[..paths.len() - 1] {
        let report = inspect_with(&world.disk, Path::new(DIRECTORY)).expect("it is inspected");
        let name = path.file_name().and_then(|name| name.to_str());
        let segment = report.segments.iter().find(|segment| Some(&*segment.segment) == name);
        let used = segment.expect("the segment is listed").used as usize;
        world.disk.change(path, |content| content[used..].fill(3));
    }
    world.open().expect("the log opens");
    world.check().expect("the log is whole");
}

#[test]
fn a_shortened_segment_is_reported() {
    let mut world = world(1);
    let paths = paths(&mut world);
    let segments = world.log().segments();
    world.log = None;
    world.disk.change(&paths[2], |content| content.truncate(3 * BLOCK + 100));
    let damage = damage(&mut world);
    assert_eq!(damage.index, segments[2].first);
}

#[test]
fn an_error_names_the_place_and_what_follows() {
    let mut world = world(1);
    let path = paths(&mut world).remove(1);
    world.log = None;
    world.disk.change(&path, |content| content[5_555] ^= 4);
    let error = world.open().expect_err("the log is damaged").to_string();
    assert_eq!(
        error,
        "the log is damaged: segment 00000000000000000000-00000000000000000002.segment, offset 5120, \
         record 3: a block has a wrong checksum; 17 readable records follow"
    );
}

#[test]
fn all_damage_is_listed() {
    let mut world = world(1);
    let paths = paths(&mut world);
    let segments = world.log().segments();
    world.log = None;
    world.disk.change(&paths[1], |content| content[100] ^= 1);
    world.disk.change(&paths[3], |content| content[BLOCK + 100] ^= 1);
    let report = inspect_with(&world.disk, Path::new(DIRECTORY)).expect("the log is inspected");
    let found: Vec<_> = report.damage.iter().map(|damage| (damage.index, damage.kind)).collect();
    let expected =
        [(segments[1].first, DamageKind::SegmentHeader), (segments[3].first, DamageKind::Block)];
    assert_eq!(found, expected);
    assert_eq!(report.lost, Some(segments[1].first..=20));
    let readable = [segments[1].first..=segments[2].last, segments[3].first + 1..=20];
    assert_eq!(report.readable_after_damage, readable);
}
