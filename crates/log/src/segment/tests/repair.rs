//! A damaged log is cut at its first damage. What is removed is kept.

use std::path::{Path, PathBuf};

use super::bit_flips::Used;
use super::world::DIRECTORY;
use crate::files::simulated::{Fault, SimulatedDisk};
use crate::{LogError, Removed, cut_at_damage_with, inspect_with, set_aside_with};

#[test]
fn a_log_is_cut_at_its_first_damage() {
    let mut cut = 0;
    for seed in 300..340 {
        let mut used = Used::new(seed);
        for trial in 0..20 {
            cut += u32::from(damage_and_cut(&mut used, &format!("seed {seed}, trial {trial}")));
        }
    }
    assert!(cut > 400, "only {cut} logs were damaged");
}

#[test]
fn a_repair_survives_a_power_cut_at_every_call() {
    for seed in 400..406 {
        let mut used = Used::new(seed);
        let damaged = std::iter::repeat_with(|| used.damaged(seed))
            .find(|disk| used_report(disk).is_some_and(|index| index > used_first(disk)))
            .expect("a damaged log");
        let expected = used_report(&damaged).expect("the log is damaged");
        for call in 0.. {
            let disk = damaged.fork(call);
            disk.fail_at(call, Fault::PowerCut);
            let finished = cut_at_damage_with(&disk, Path::new(DIRECTORY)).is_ok();
            disk.restart();
            cut_at_damage_with(&disk, Path::new(DIRECTORY)).expect("the repair is repeated");
            used.check_cut(&disk, expected)
                .unwrap_or_else(|error| panic!("seed {seed}, call {call}: {error}"));
            if finished {
                break;
            }
        }
    }
}

#[test]
fn a_log_that_is_set_aside_is_kept() {
    let used = Used::new(500);
    let disk = used.disk().fork(1);
    let before = segments(&disk, Path::new(DIRECTORY));
    let Removed { kept_in, damage } = set_aside_with(&disk, Path::new(DIRECTORY))
        .expect("the log is set aside")
        .expect("there was a log");
    assert_eq!(damage, None);
    assert_eq!(segments(&disk, Path::new(DIRECTORY)), []);
    assert_eq!(segments(&disk, &kept_in), before);
    assert_eq!(set_aside_with(&disk, Path::new(DIRECTORY)).expect("there is no log"), None);
}

/// Returns whether the log was damaged.
fn damage_and_cut(used: &mut Used, context: &str) -> bool {
    let directory = Path::new(DIRECTORY);
    let disk = used.damaged(1);
    let before = segments(&disk, directory);
    let report = inspect_with(&disk, directory).expect("the log is inspected");
    let removed = cut_at_damage_with(&disk, directory).expect("the log is cut");
    assert_eq!(removed.is_some(), !report.damage.is_empty(), "{context}");
    let Some(Removed { damage, kept_in }) = removed else {
        assert_eq!(segments(&disk, directory), before, "{context}: an intact log was changed");
        return false;
    };
    assert_eq!(damage.as_ref(), report.damage.first(), "{context}");
    let index = damage.expect("damage was cut").index;
    used.check_cut(&disk, index).unwrap_or_else(|error| panic!("{context}: {error}"));
    for (name, content) in segments(&disk, &kept_in) {
        assert!(before.contains(&(name, content)), "{context}: what was removed was changed");
    }
    let kept = segments(&disk, &kept_in).len() + segments(&disk, directory).len();
    assert!(kept >= before.len(), "{context}: a segment is gone");
    true
}

/// The index of the first damage.
fn used_report(disk: &SimulatedDisk) -> Option<u64> {
    let report = inspect_with(disk, Path::new(DIRECTORY)).expect("the log is inspected");
    report.damage.first().map(|damage| damage.index)
}

fn used_first(disk: &SimulatedDisk) -> u64 {
    let report = inspect_with(disk, Path::new(DIRECTORY)).expect("the log is inspected");
    report.segments[0].first
}

/// Names and contents of the segments in a directory.
fn segments(disk: &SimulatedDisk, directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let inside = |path: &PathBuf| path.parent() == Some(directory);
    let segment = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "segment");
    let paths = disk.paths().into_iter().filter(|path| inside(path) && segment(path));
    paths.map(|path| (path.file_name().expect("a name").into(), disk.content(&path))).collect()
}

impl Used {
    /// The log must end right before this record, if any is left.
    fn check_cut(&self, disk: &SimulatedDisk, index: u64) -> Result<(), String> {
        let mut history = self.history().clone();
        history.acknowledged.truncate(index as usize - 1);
        if index == history.needed {
            return match segments(disk, Path::new(DIRECTORY)).len() {
                0 => Ok(()),
                left => Err(format!("{left} segments are left")),
            };
        }
        match self.open(disk.clone()) {
            Ok(mut log) => history.check(&mut log),
            Err(LogError::Damaged(damage)) => Err(format!("still damaged: {damage}")),
            Err(error) => Err(error.to_string()),
        }
    }
}
