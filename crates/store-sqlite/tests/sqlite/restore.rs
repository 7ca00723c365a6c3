//! Restoring backups, and keeping the replaced database.

use std::fs;
use std::path::{Path, PathBuf};

use crate::directory::{Directory, block_on};
use crate::filled::{JOBS, batch, closed, fill, insert};
use rota_store::View;
use rota_store::suite::Fixture;
use rota_store_sqlite::check::{Depth, check};
use rota_store_sqlite::{CopyError, OpenError, Restored, Snapshot, backup, restore};
use tempfile::TempDir;

#[test]
fn a_restored_directory_can_be_used_by_a_server() {
    let (_keep, file) = backed_up();
    let directory = Directory::new();
    let new = directory.path().join("a/b");
    let restored = restore(&file, &new, false, &mut |_| {}).unwrap();
    assert_eq!((restored.copied.commit, restored.copied.report.census.total()), (1, JOBS));
    assert_eq!(restored.replaced_files, Vec::<PathBuf>::new());
    let mut store = rota_store_sqlite::SqliteView::open(&new, crate::directory::small()).unwrap();
    block_on(store.apply(&[batch(2, vec![insert(JOBS)])])).expect("it goes on where it was");
}

/// The restored file must be in WAL mode: SQLite cannot change the mode while it is being read.
#[test]
fn a_server_starts_on_a_restored_directory_while_it_is_checked() {
    let (_keep, file) = backed_up();
    let directory = Directory::new();
    into(&directory, &file, false).unwrap();
    let _check = Snapshot::of_directory(directory.path()).unwrap();
    let mut store = directory.open();
    block_on(store.apply(&[batch(2, vec![insert(JOBS)])])).unwrap();
}

#[test]
fn an_existing_database_is_replaced_only_on_request() {
    let (_keep, file) = backed_up();
    let directory = other();
    let before = fs::read(directory.file("rota.db")).unwrap();
    let error = into(&directory, &file, false).unwrap_err();
    assert!(matches!(error, CopyError::Exists { .. }), "{error}");
    assert_eq!(fs::read(directory.file("rota.db")).unwrap(), before);
    assert!(!directory.file("rota.restoring").exists());

    let restored = into(&directory, &file, true).unwrap();
    let [replaced] = &restored.replaced_files[..] else { panic!("{restored:?}") };
    assert!(replaced.file_name().unwrap().to_string_lossy().starts_with("rota.db.replaced-2"));
    assert_eq!(jobs_in(replaced), 1, "the old database is whole");
    assert_eq!(jobs_in(&directory.file("rota.db")), JOBS);
}

/// The old log must be applied to the old database and never to the new one.
#[test]
fn the_log_of_a_crashed_server_stays_with_its_database() {
    let (_keep, file) = backed_up();
    let directory = Directory::new();
    crash_in(&directory);
    let restored = into(&directory, &file, true).unwrap();
    let [replaced] = &restored.replaced_files[..] else { panic!("{restored:?}") };
    assert_eq!(jobs_in(replaced), 1, "what was only in the log is there");
    assert!(!directory.file("rota.db-wal").exists() && !directory.file("rota.db-shm").exists());
    assert_eq!(sound_jobs(&directory), JOBS);
}

#[test]
fn a_log_without_a_database_is_moved_away() {
    let (_keep, file) = backed_up();
    let directory = Directory::new();
    crash_in(&directory);
    fs::remove_file(directory.file("rota.db")).unwrap();
    let log = fs::read(directory.file("rota.db-wal")).unwrap();
    let restored = into(&directory, &file, false).unwrap();
    let [replaced] = &restored.replaced_files[..] else { panic!("{restored:?}") };
    assert_eq!(fs::read(replaced).unwrap(), log);
    assert_eq!(sound_jobs(&directory), JOBS);
}

/// The usual reason for a restore: the old database cannot be opened.
#[test]
fn an_unreadable_database_is_moved_away_with_its_log() {
    let (_keep, file) = backed_up();
    let directory = Directory::new();
    crash_in(&directory);
    fs::write(directory.file("rota.db"), vec![7; 20_000]).unwrap();
    let log = fs::read(directory.file("rota.db-wal")).unwrap();
    let restored = into(&directory, &file, true).unwrap();
    let [ruin, its_log] = &restored.replaced_files[..] else { panic!("{restored:?}") };
    assert_eq!(fs::read(ruin).unwrap(), vec![7; 20_000]);
    assert_eq!(fs::read(its_log).unwrap(), log);
    assert_eq!(its_log.to_string_lossy(), format!("{}-wal", ruin.display()));
    assert_eq!(sound_jobs(&directory), JOBS);
}

/// SQLite would roll the journal of an interrupted creation back into the new file.
#[test]
fn a_rollback_journal_is_moved_away_too() {
    let (_keep, file) = backed_up();
    let directory = Directory::new();
    fs::write(directory.file("rota.db-journal"), vec![7; 4096]).unwrap();
    let restored = into(&directory, &file, false).unwrap();
    assert_eq!(restored.replaced_files.len(), 1);
    assert!(!directory.file("rota.db-journal").exists());
    assert_eq!(sound_jobs(&directory), JOBS);
}

#[test]
fn a_replaced_database_can_be_restored_again() {
    let (_keep, file) = backed_up();
    let directory = other();
    let replaced = into(&directory, &file, true).unwrap().replaced_files.remove(0);
    let again = into(&directory, &replaced, true).unwrap();
    assert_eq!(sound_jobs(&directory), 1);
    assert_ne!(again.replaced_files[0], replaced, "nothing is overwritten");
    assert_eq!(jobs_in(&again.replaced_files[0]), JOBS);
}

#[test]
fn the_directory_of_a_running_server_is_rejected() {
    let (_keep, file) = backed_up();
    let directory = Directory::new();
    let mut store = directory.open();
    let error = into(&directory, &file, true).unwrap_err();
    assert!(matches!(error, CopyError::Open(OpenError::Locked { .. })), "{error}");
    block_on(store.apply(&[batch(1, vec![insert(0)])])).expect("the server is not disturbed");
}

#[test]
fn a_database_open_in_another_program_is_rejected() {
    let (_keep, file) = backed_up();
    let directory = Directory::new();
    crash_in(&directory);
    let reader = Snapshot::of_directory(directory.path()).unwrap();
    let error = into(&directory, &file, true).unwrap_err();
    assert!(matches!(error, CopyError::InUse { .. }), "{error}");
    drop(reader);
    assert_eq!(sound_jobs(&directory), 1);
}

#[test]
fn an_invalid_backup_changes_nothing() {
    let (_keep, file) = backed_up();
    let directory = other();
    let before = (fs::read(directory.file("rota.db")).unwrap(), directory.listing());
    let whole = fs::read(&file).unwrap();
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&99u32.to_be_bytes());
    let mut foreign = whole.clone();
    foreign[68..72].fill(0);
    let mut damaged = whole.clone();
    let last = whole.len() - 8192;
    damaged[last..last + 12].iter_mut().for_each(|byte| *byte ^= 0xa5);
    let cut = whole[..whole.len() / 2].to_vec();
    for bytes in [b"nonsense".to_vec(), newer, foreign, damaged, cut, Vec::new()] {
        fs::write(&file, bytes).unwrap();
        into(&directory, &file, true).expect_err("it is refused");
        let after = (fs::read(directory.file("rota.db")).unwrap(), directory.listing());
        assert_eq!(after, before);
    }
    fs::remove_file(&file).unwrap();
    into(&directory, &file, true).expect_err("there is nothing");
    into(&directory, &directory.file("rota.db"), true).expect_err("that is the same file");
    assert_eq!((fs::read(directory.file("rota.db")).unwrap(), directory.listing()), before);
}

/// A copy made by hand, with its log next to it.
#[test]
fn a_backup_with_a_log_is_restored_with_it() {
    let crashed = Directory::new();
    std::mem::forget(fill(&crashed));
    let directory = Directory::new();
    into(&directory, &crashed.file("rota.db"), false).unwrap();
    assert_eq!(sound_jobs(&directory), JOBS);
}

#[test]
fn the_new_file_has_the_owner_of_the_old_one() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let (_keep, file) = backed_up();
    let directory = other();
    let old = directory.file("rota.db");
    chown(&old, Some(4242), Some(4242)).expect("this test gives a file away and needs root");
    fs::set_permissions(&old, fs::Permissions::from_mode(0o640)).unwrap();
    into(&directory, &file, true).unwrap();
    let new = fs::metadata(&old).unwrap();
    assert_eq!((new.uid(), new.gid(), new.mode() & 0o777), (4242, 4242, 0o640));
}

fn into(directory: &Directory, file: &Path, replace: bool) -> Result<Restored, CopyError> {
    restore(file, directory.path(), replace, &mut |_| {})
}

fn backed_up() -> (TempDir, PathBuf) {
    let keep = TempDir::new().unwrap();
    let file = keep.path().join("copy.db");
    let closed = closed();
    backup(
        closed.path(),
        &file,
        false,
        || Ok(Snapshot::of_directory(closed.path())?.into()),
        &mut |_| {},
    )
    .unwrap();
    (keep, file)
}

/// A database with a single job.
fn other() -> Directory {
    let directory = Directory::new();
    let mut store = directory.open();
    block_on(store.apply(&[batch(1, vec![insert(0)])])).unwrap();
    block_on(store.close()).unwrap();
    directory
}

/// A crashed server's database, with a single job that is only in the log.
fn crash_in(directory: &Directory) {
    let living = Directory::new();
    let mut store = living.open();
    block_on(store.apply(&[batch(1, vec![insert(0)])])).unwrap();
    for name in ["rota.db", "rota.db-wal"] {
        fs::copy(living.file(name), directory.file(name)).unwrap();
    }
    fs::write(directory.file("rota.db-shm"), vec![9; 32 << 10]).unwrap();
}

fn jobs_in(file: &Path) -> u64 {
    check(&Snapshot::of_file(file).unwrap(), Depth::Full).census.total()
}

fn sound_jobs(directory: &Directory) -> u64 {
    let report = check(&Snapshot::of_directory(directory.path()).unwrap(), Depth::Full);
    assert_eq!(report.broken(), None);
    report.census.total()
}
