//! What a log does with real files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::world::now;
use crate::{Entry, Log, LogError, SegmentLog, SegmentOptions, cut_at_damage, inspect};

fn options() -> SegmentOptions {
    SegmentOptions {
        segment_bytes: 128 << 10,
        first_segment_bytes: 32 << 10,
        ..SegmentOptions::default()
    }
}

fn append(log: &mut SegmentLog, length: usize) {
    let tip = log.tip();
    let payload = vec![b'x'; length].into();
    let entry = Entry { index: tip.index + 1, term: tip.term, time: 0, payload };
    now(log.append(&entry)).expect("the entry is appended");
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the directory is readable");
    let name = |entry: fs::DirEntry| entry.file_name().into_string().expect("a plain name");
    let mut names: Vec<_> = entries.map(|entry| name(entry.expect("an entry"))).collect();
    names.sort();
    names
}

#[test]
fn files_are_private_zero_filled_and_named_by_term_and_index() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("log");
    let mut log = SegmentLog::open(&directory, options()).expect("the log opens");
    for _ in 0..4 {
        append(&mut log, 20_000);
    }
    now(log.close()).expect("the log closes");
    let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    let names = names(&directory);
    assert_eq!(
        names[..2],
        [
            "00000000000000000000-00000000000000000001.segment",
            "00000000000000000000-00000000000000000002.segment",
        ]
    );
    for name in &names {
        let path = directory.join(name);
        assert_eq!(mode(&path), 0o600);
        let metadata = fs::metadata(&path).expect("metadata");
        assert!([32 << 10, 128 << 10].contains(&metadata.size()), "{name}: {}", metadata.size());
        assert!(metadata.blocks() * 512 >= metadata.size(), "{name} has holes");
    }
}

#[test]
fn truncated_segments_are_used_again() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("log");
    let mut log = SegmentLog::open(&directory, options()).expect("the log opens");
    let mut inodes = std::collections::BTreeSet::new();
    for _ in 0..200 {
        append(&mut log, 20_000);
        let below = log.tip().index;
        now(log.truncate(below)).expect("the log is truncated");
        for segment in log.segments() {
            inodes.insert(fs::metadata(&segment.path).expect("metadata").ino());
        }
    }
    assert!(inodes.len() <= 5, "{} files were used for 40 segments", inodes.len());
    now(log.close()).expect("the log closes");
    assert!(names(&directory).len() <= 4);
}

#[test]
fn a_missing_log_is_created_only_if_asked_for() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("log");
    let opened = SegmentLog::open(&directory, SegmentOptions { create: false, ..options() });
    assert!(matches!(opened, Err(LogError::Missing(_))));
    assert!(!directory.exists());
}

#[test]
fn a_damaged_file_is_inspected_and_cut() {
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let directory = temporary.path().join("log");
    let mut log = SegmentLog::open(&directory, options()).expect("the log opens");
    for _ in 0..20 {
        append(&mut log, 20_000);
    }
    let path = log.segments()[2].path.clone();
    let first = log.segments()[2].first;
    now(log.close()).expect("the log closes");
    let mut content = fs::read(&path).expect("the segment is read");
    content[30_000] ^= 1;
    fs::write(&path, content).expect("the segment is written");

    let damaged = SegmentLog::open(&directory, options());
    assert!(matches!(damaged, Err(LogError::Damaged(_))));
    let report = inspect(&directory).expect("the log is inspected");
    assert_eq!(report.lost, Some(first + 1..=20));
    let removed = cut_at_damage(&directory).expect("the log is cut").expect("it was damaged");
    assert!(removed.kept_in.starts_with(&directory) && removed.kept_in.is_dir());
    let log = SegmentLog::open(&directory, options()).expect("the log opens");
    assert_eq!(log.tip().index, first);
}
