//! A newer format is refused, and is not taken for damage.

use std::path::Path;

use super::world::{DIRECTORY, World};
use crate::segment::block::{BLOCK, HEAD, Seen, examine, seal};
use crate::{LogError, cut_at_damage_with, inspect_with};

#[test]
fn a_newer_segment_is_refused() {
    refused(0, HEAD + 8);
}

#[test]
fn a_newer_record_is_refused() {
    refused(1, HEAD);
}

/// Writes another version into a block of the second segment.
fn refused(position: usize, version_at: usize) {
    let mut world = World::new(3, |disk| disk);
    world.open().expect("the log opens");
    while world.log().segments().len() < 3 {
        world.append().expect("the disk works");
    }
    let segment = world.log().segments()[1].path.clone();
    world.log = None;
    world.disk.change(&segment, |content| {
        let block = &mut content[position * BLOCK..][..BLOCK];
        let Seen::Whole(head) = examine(block, position as u32) else { panic!("a whole block") };
        block[version_at..version_at + 2].copy_from_slice(&9_u16.to_le_bytes());
        seal(block, &head);
    });
    let before = world.disk.content(&segment);
    let name = segment.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
    let newer = |error: LogError| match error {
        LogError::Newer { segment, found: 9, known: 1 } => assert_eq!(segment, name),
        error => panic!("{error}"),
    };
    newer(world.open().expect_err("a newer format"));
    let directory = Path::new(DIRECTORY);
    newer(cut_at_damage_with(&world.disk, directory).expect_err("a newer format"));
    let report = inspect_with(&world.disk, directory).expect("the log is inspected");
    assert_eq!(report.newer, Some((name.clone(), 9)));
    assert_eq!(world.disk.content(&segment), before);
}
