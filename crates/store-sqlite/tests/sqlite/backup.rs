//! Backing up a database, with and without a running server.

use std::fs;
use std::path::Path;

use crate::directory::{Directory, block_on};
use crate::filled::{JOBS, batch, closed, fill, insert, insert_sized, tamper};
use rota_store::View;
use rota_store_sqlite::check::{Depth, check};
use rota_store_sqlite::{Copied, CopyError, OpenError, Snapshot, Stage, backup};
use tempfile::TempDir;

#[test]
fn a_backup_is_one_consistent_file() {
    let directory = Directory::new();
    let mut store = fill(&directory);
    block_on(store.apply(&[batch(2, vec![insert_sized(JOBS, 20 << 20)])])).unwrap();
    let elsewhere = TempDir::new().unwrap();
    let target = elsewhere.path().join("copy.db");
    let mut next = 3;
    let mut last_seen = None;
    let copied = backup(
        directory.path(),
        &target,
        false,
        || Ok(Snapshot::of_directory(directory.path())?.into()),
        &mut |stage| {
            // The server writes during the copy.
            block_on(store.apply(&[batch(next, vec![insert(JOBS + next)])])).unwrap();
            next += 1;
            assert!(next < 100, "it starts over and over");
            last_seen = Some(stage);
        },
    )
    .unwrap();
    assert!(next > 5 && last_seen == Some(Stage::Checking));
    assert_eq!((copied.commit, copied.report.census.total()), (2, JOBS + 1));
    assert_eq!(copied.bytes, fs::metadata(&target).unwrap().len());
    assert_eq!(files(elsewhere.path()), ["copy.db"]);
    assert_eq!(check(&Snapshot::of_file(&target).unwrap(), Depth::Full).damages, []);
    let header = fs::read(&target).unwrap();
    assert_eq!(header[18..20], [1, 1], "any SQLite can read it where nothing can be written");
}

#[test]
fn a_backup_includes_the_write_ahead_log() {
    let directory = Directory::new();
    std::mem::forget(fill(&directory));
    let copied = into(&directory, &directory.file("copy.db"), false).unwrap();
    assert_eq!(copied.report.census.total(), JOBS);
}

/// On a full disk and at shutdown, the server truncates its write-ahead log. A backup keeps it from
/// doing so, which is not an error.
#[test]
fn the_server_closes_while_a_backup_still_reads() {
    let directory = Directory::new();
    let mut store = fill(&directory);
    let snapshot = Snapshot::of_directory(directory.path()).unwrap();
    block_on(store.apply(&[batch(2, vec![insert(JOBS)])])).unwrap();
    assert!(store.release_reserve() && store.restore_reserve());
    block_on(store.close()).unwrap();
    assert_eq!(snapshot.loaded().number, 1, "the reader still sees what it began with");
    drop(snapshot);
    assert_eq!(into(&directory, &directory.file("copy.db"), false).unwrap().commit, 2);
}

#[test]
fn progress_reaches_the_total() {
    let directory = Directory::new();
    let mut store = fill(&directory);
    block_on(store.apply(&[batch(2, vec![insert_sized(JOBS, 20 << 20)])])).unwrap();
    let mut steps = Vec::new();
    let target = directory.file("copy.db");
    let copied = backup(
        directory.path(),
        &target,
        false,
        || Ok(Snapshot::of_directory(directory.path())?.into()),
        &mut |stage| steps.push(stage),
    )
    .unwrap();
    assert!(steps.len() > 3, "{steps:?}");
    assert_eq!(steps.pop(), Some(Stage::Checking));
    // The last page is added to the complete copy: it names the last record of the log.
    let all = copied.bytes - 8192;
    assert_eq!(steps.pop(), Some(Stage::Copying { done: all, total: all }));
    let Stage::Copying { done, .. } = steps[0] else { panic!("{steps:?}") };
    assert!(done > 0 && done < all);
}

#[test]
fn an_existing_file_is_replaced_only_on_request() {
    let directory = closed();
    let target = directory.file("copy.db");
    fs::write(&target, "precious").unwrap();
    let error = into(&directory, &target, false).unwrap_err();
    assert!(matches!(error, CopyError::Exists { .. }), "{error}");
    assert_eq!(fs::read(&target).unwrap(), b"precious");
    into(&directory, &target, true).unwrap();
    assert_eq!(Snapshot::of_file(&target).unwrap().loaded().number, 1);
}

#[test]
fn a_file_created_during_the_copy_is_kept() {
    let directory = closed();
    let target = directory.file("copy.db");
    let error = backup(
        directory.path(),
        &target,
        false,
        || Ok(Snapshot::of_directory(directory.path())?.into()),
        &mut |_| {
            fs::write(&target, "precious").unwrap();
        },
    );
    assert!(matches!(error, Err(CopyError::Exists { .. })));
    assert_eq!(fs::read(&target).unwrap(), b"precious");
    assert!(!directory.file("copy.db.partial").exists());
}

#[test]
fn the_files_of_the_server_cannot_be_the_target() {
    let directory = closed();
    for name in ["rota.db", "rota.db-wal", "rota.lock", "rota.reserve"] {
        let error = into(&directory, &directory.file(name), true).unwrap_err();
        assert!(matches!(error, CopyError::ServerFile { .. }), "{name}: {error}");
    }
    assert_eq!(Snapshot::of_directory(directory.path()).unwrap().loaded().number, 1);
}

/// SQLite would apply the log of another database to the backup.
#[test]
fn a_stray_log_next_to_the_target_is_an_error() {
    let directory = closed();
    fs::write(directory.file("copy.db-wal"), "another's").unwrap();
    let error = into(&directory, &directory.file("copy.db"), true).unwrap_err();
    assert!(matches!(error, CopyError::StrayFile { .. }), "{error}");
}

#[test]
fn leftovers_are_replaced_but_a_running_backup_is_an_error() {
    let directory = closed();
    let target = directory.file("copy.db");
    let partial = directory.file("copy.db.partial");
    fs::write(&partial, vec![b'x'; 1 << 20]).unwrap();
    let other = fs::File::open(&partial).unwrap();
    other.lock().unwrap();
    let error = into(&directory, &target, false).unwrap_err();
    assert!(matches!(error, CopyError::Busy { .. }), "{error}");
    assert!(partial.exists(), "it is the other's");
    drop(other);
    into(&directory, &target, false).unwrap();
    assert!(!partial.exists());
}

#[test]
fn a_missing_database_is_reported_and_nothing_created() {
    let directory = Directory::new();
    let error = into(&directory, &directory.file("copy.db"), false).unwrap_err();
    assert!(matches!(error, CopyError::Open(OpenError::Nothing { .. })), "{error}");
    assert!(directory.listing().is_empty());
}

#[test]
fn a_damaged_database_is_not_backed_up() {
    let directory = closed();
    let file = directory.file("rota.db");
    let mut bytes = fs::read(&file).unwrap();
    let last = bytes.len() - 8192;
    bytes[last..last + 12].iter_mut().for_each(|byte| *byte ^= 0xa5);
    fs::write(&file, &bytes).unwrap();
    let error = into(&directory, &directory.file("copy.db"), false).unwrap_err();
    assert!(matches!(error, CopyError::Damaged { .. }), "{error}");
    assert_eq!(directory.listing(), ["rota.db", "rota.lock", "rota.reserve"]);
}

/// An inconsistent database is better backed up than not.
#[test]
fn inconsistent_rows_are_backed_up_and_reported() {
    let directory = closed();
    tamper(&directory, "UPDATE counts SET completed = 77 WHERE class = 1", []);
    let copied = into(&directory, &directory.file("copy.db"), false).unwrap();
    assert_eq!(copied.report.damages.len(), 1);
}

#[test]
fn a_backup_has_the_permissions_of_the_database() {
    use std::os::unix::fs::PermissionsExt;
    let directory = closed();
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(directory.file("rota.db"), private).unwrap();
    into(&directory, &directory.file("copy.db"), false).unwrap();
    let mode = fs::metadata(directory.file("copy.db")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

fn into(directory: &Directory, target: &Path, overwrite: bool) -> Result<Copied, CopyError> {
    backup(
        directory.path(),
        target,
        overwrite,
        || Ok(Snapshot::of_directory(directory.path())?.into()),
        &mut |_| {},
    )
}

fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
