//! Opening data directories, and the errors for those that cannot be opened.

use std::fs;

use crate::directory::{Directory, block_on, connect};
use rota_model::{Millis, Seq};
use rota_store::suite::Fixture;
use rota_store::{Batch, View};
use rota_store_sqlite::{FORMAT, OpenError, Options, SqliteView};

#[test]
fn missing_directories_are_created() {
    let directory = Directory::new();
    let deep = directory.path().join("a/b");
    let store = SqliteView::open(&deep, crate::directory::small()).unwrap();
    assert!(store.has_reserve());
    assert!(deep.join("rota.db").exists() && deep.join("rota.lock").exists());
    block_on(store.close()).unwrap();
}

#[test]
fn a_closed_store_leaves_no_log() {
    let directory = Directory::new();
    let mut store = directory.open();
    block_on(store.apply(&[first_batch()])).unwrap();
    block_on(store.close()).unwrap();
    assert_eq!(directory.listing(), ["rota.db", "rota.lock", "rota.reserve"]);
}

#[test]
fn a_second_server_is_told_the_pid_of_the_first() {
    let directory = Directory::new();
    let store = directory.open();
    let error = refused(&directory);
    let OpenError::Locked { dir, pid } = &error else { panic!("{error}") };
    assert_eq!((dir.as_path(), *pid), (directory.path(), Some(std::process::id())));
    let message = error.to_string();
    assert!(message.contains(&*directory.path().to_string_lossy()), "{message}");
    assert!(message.contains("another server"), "{message}");
    drop(store);
    directory.open();
}

#[test]
fn a_newer_format_is_rejected_and_not_changed() {
    let directory = Directory::new();
    block_on(directory.open().close()).unwrap();
    let file = directory.file("rota.db");
    let conn = connect(&file);
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    let (before, listing) = (fs::read(&file).unwrap(), directory.listing());
    let error = refused(&directory);
    assert!(matches!(error, OpenError::NewerFormat { found: 99, known: FORMAT, .. }), "{error}");
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(directory.listing(), listing);
}

#[test]
fn a_newer_format_in_the_log_is_rejected_too() {
    let directory = Directory::new();
    block_on(directory.open().close()).unwrap();
    let file = directory.file("rota.db");
    let conn = connect(&file);
    conn.pragma_update(None, "user_version", FORMAT + 1).unwrap();
    let elsewhere = Directory::new();
    for name in ["rota.db", "rota.db-wal"] {
        fs::copy(directory.file(name), elsewhere.file(name)).unwrap();
    }
    let before = fs::read(elsewhere.file("rota.db")).unwrap();
    let error = refused(&elsewhere);
    assert!(
        matches!(error, OpenError::NewerFormat { found, .. } if found == FORMAT + 1),
        "{error}"
    );
    assert_eq!(fs::read(elsewhere.file("rota.db")).unwrap(), before);
    drop(conn);
}

#[test]
fn an_interrupted_creation_starts_over() {
    let directory = Directory::new();
    fs::write(directory.file("rota.db"), "").unwrap();
    block_on(directory.open().apply(&[first_batch()])).unwrap();
}

#[test]
fn a_path_that_is_a_file_is_unusable() {
    let directory = Directory::new();
    let path = directory.file("file");
    fs::write(&path, "").unwrap();
    let error = SqliteView::open(&path, Options::default()).err().expect("it is refused");
    assert!(matches!(error, OpenError::Unusable { .. }), "{error}");
    assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
}

fn first_batch() -> Batch {
    Batch { number: 1, now: Millis(1), next_seq: Seq(1), event_count: 0, mutations: vec![] }
}

fn refused(directory: &Directory) -> OpenError {
    directory.try_open().err().expect("it is refused")
}
