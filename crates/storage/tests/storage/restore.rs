//! Backups and restores beside a log.

use std::fs;

use rota_log::Log;
use rota_storage::{backup_source, restore};
use rota_store_sqlite::{CopyError, backup};
use tempfile::TempDir;

use crate::directory::{Directory, close, commit, traces};

/// A backup of a directory with so many batches.
fn backup_of(directory: &Directory) -> (TempDir, std::path::PathBuf) {
    let target = TempDir::new().unwrap();
    let file = target.path().join("backup.db");
    let current =
        || backup_source(directory.path()).map_err(|error| CopyError::Storage(error.to_string()));
    backup(directory.path(), &file, false, current, &mut |_| ()).unwrap();
    (target, file)
}

#[test]
fn a_backup_has_what_only_the_log_had() {
    let directory = Directory::new();
    directory.commit_and_crash(1..=30, 2);
    let (_target, file) = backup_of(&directory);
    let restored = Directory::new();
    restore(&file, restored.path(), false, &mut |_| ()).unwrap();
    close(restored.open());
    assert_eq!((restored.applied(), traces(&restored)), (30, 30));
}

#[test]
fn a_restored_database_begins_a_new_log_under_a_new_term() {
    let directory = Directory::new();
    directory.commit_and_close(1..=10);
    let (_target, file) = backup_of(&directory);
    // Records of a history that is abandoned.
    directory.commit_and_crash(11..=15, 12);
    restore(&file, directory.path(), true, &mut |_| ()).unwrap();
    let mut storage = directory.open();
    assert_eq!((storage.log.tip().index, storage.log.tip().term, storage.term), (10, 1, 2));
    commit(&mut storage, 11..=12, 12);
    close(storage);
    assert_eq!(
        (directory.applied(), traces(&directory)),
        (12, 12),
        "nothing of the abandoned records"
    );
    assert_eq!(directory.segments(), ["00000000000000000002-00000000000000000011.segment"]);
    restore(&file, directory.path(), true, &mut |_| ()).unwrap();
    let storage = directory.open();
    assert_eq!((storage.log.tip().index, storage.term), (10, 3), "a term is never used twice");
}

#[test]
fn the_replaced_database_is_whole_without_its_log() {
    let directory = Directory::new();
    directory.commit_and_close(1..=1);
    let (_target, file) = backup_of(&directory);
    directory.commit_and_crash(2..=9, 4);
    let restored = restore(&file, directory.path(), true, &mut |_| ()).unwrap();
    let again = Directory::new();
    restore(&restored.replaced_files[0], again.path(), false, &mut |_| ()).unwrap();
    close(again.open());
    assert_eq!(traces(&again), 9);
}

/// Copying the file by hand is a restore, too.
#[test]
fn a_backup_that_is_put_in_place_by_hand_begins_a_new_log() {
    let directory = Directory::new();
    directory.commit_and_close(1..=5);
    let (_target, file) = backup_of(&directory);
    let copied = Directory::new();
    fs::copy(&file, copied.file("rota.db")).unwrap();
    copied.commit_and_close(6..=7);
    assert_eq!(traces(&copied), 7);
}
