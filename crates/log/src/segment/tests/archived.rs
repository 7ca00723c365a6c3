//! Copies of closed segments are read by themselves.

use std::path::Path;

use super::world::World;
use crate::{Log, LogError, read_archived_with};

#[test]
fn copied_segments_continue_each_other() {
    let mut world = World::new(5, |disk| disk);
    world.open().expect("the log opens");
    while world.log().segments().len() < 6 {
        world.append().expect("the disk works");
    }
    let segments = world.log().segments();
    let mut entries = Vec::new();
    let mut tip = None;
    for segment in &segments {
        let archived = read_archived_with(&world.disk, &segment.path).expect("it is readable");
        assert_eq!((archived.name.first, archived.tip.index), (segment.first, segment.last));
        assert!(tip.is_none_or(|tip| tip == archived.previous), "a segment does not continue");
        tip = Some(archived.tip);
        entries.extend(archived.entries);
    }
    assert_eq!(entries, world.history.acknowledged);
    assert_eq!(tip, Some(world.log().tip()));
}

#[test]
fn a_damaged_copy_is_refused() {
    let mut world = World::new(5, |disk| disk);
    world.open().expect("the log opens");
    while world.log().segments().len() < 2 {
        world.append().expect("the disk works");
    }
    let path = world.log().segments()[0].path.clone();
    world.disk.change(&path, |content| content[600] ^= 1);
    let read = read_archived_with(&world.disk, &path);
    assert!(matches!(read, Err(LogError::Damaged(_))), "{read:?}");
    let read = read_archived_with(&world.disk, Path::new("/data/log/spare-1"));
    assert!(matches!(read, Err(LogError::Missing(_))), "{read:?}");
}
