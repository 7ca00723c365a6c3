//! Opening a directory: what is refused, how it is said, and that nothing is touched.

mod directory;

use std::fs;

use directory::{Directory, block_on};
use rota_model::{Millis, Seq};
use rota_store::suite::Fixture;
use rota_store::{Batch, Store};
use rota_store_sqlite::{OpenError, Options, SqliteStore};
use rusqlite::Connection;

#[test]
fn missing_directories_are_created() {
    let directory = Directory::new();
    let deep = directory.path().join("a/b");
    let store = SqliteStore::open(&deep, directory::small()).unwrap();
    assert!(store.has_reserve());
    assert!(deep.join("rota.db").exists() && deep.join("rota.lock").exists());
    block_on(store.close()).unwrap();
}

#[test]
fn a_closed_store_leaves_no_log() {
    let directory = Directory::new();
    let mut store = directory.open();
    block_on(store.commit(&first_batch())).unwrap();
    block_on(store.close()).unwrap();
    assert_eq!(directory.listing(), ["rota.db", "rota.lock", "rota.reserve"]);
}

#[test]
fn a_second_server_is_told_who_holds_the_directory() {
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
fn a_newer_format_is_refused_and_left_alone() {
    let directory = Directory::new();
    block_on(directory.open().close()).unwrap();
    let file = directory.file("rota.db");
    let conn = Connection::open(&file).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    let (before, listing) = (fs::read(&file).unwrap(), directory.listing());
    let error = refused(&directory);
    assert!(matches!(error, OpenError::NewerFormat { found: 99, known: 4, .. }), "{error}");
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(directory.listing(), listing);
}

#[test]
fn a_newer_format_that_is_still_in_the_log_is_refused_too() {
    let directory = Directory::new();
    block_on(directory.open().close()).unwrap();
    let file = directory.file("rota.db");
    let conn = Connection::open(&file).unwrap();
    conn.pragma_update(None, "user_version", 5).unwrap();
    let elsewhere = Directory::new();
    for name in ["rota.db", "rota.db-wal"] {
        fs::copy(directory.file(name), elsewhere.file(name)).unwrap();
    }
    let before = fs::read(elsewhere.file("rota.db")).unwrap();
    let error = refused(&elsewhere);
    assert!(matches!(error, OpenError::NewerFormat { found: 5, .. }), "{error}");
    assert_eq!(fs::read(elsewhere.file("rota.db")).unwrap(), before);
    drop(conn);
}

#[test]
fn an_older_format_is_migrated_with_its_data() {
    let directory = Directory::new();
    let conn = Connection::open(directory.file("rota.db")).unwrap();
    conn.execute_batch(include_str!("../migrations/0001_base.sql")).unwrap();
    conn.execute_batch(
        r#"PRAGMA application_id = 0x526f7461;
         PRAGMA user_version = 1;
         UPDATE meta SET number = 7, now = 70, next_seq = 4;
         INSERT INTO jobs VALUES (3, x'00000000000070008000000000000003', 1, 30, CAST(
           '"specversion":"1.0","id":"00000000-0000-7000-8000-000000000003","a":1' AS BLOB));
         INSERT INTO named VALUES (1, 'nightly', CAST(json_object('at', 5, 'body',
           '"specversion":"1.0","id":"00000000-0000-7000-8000-000000000000","type":"x"') AS BLOB));
         INSERT INTO jobs VALUES (2, x'00000000000070008000000000000002', 1, 20, x'2261223a31');
         INSERT INTO live VALUES (3, 1, 1, 0, 30, NULL, NULL, NULL, NULL, 0, 0);
         INSERT INTO done VALUES (2, 1, 0, 40, 1, 20, 30, NULL, 60, NULL);"#,
    )
    .unwrap();
    drop(conn);

    let mut store = directory.open();
    let mut reader = store.reader().unwrap();
    let record = block_on(rota_store::Reader::records(&mut reader, &[Seq(3)])).unwrap().remove(0);
    let record = record.unwrap();
    assert_eq!(record.body.json, r#""a":1"#);
    let found = block_on(rota_store::Reader::resolve(&mut reader, &[record.body.id])).unwrap();
    assert_eq!(found[0].as_ref().map(|found| found.seq), Some(Seq(3)));
    let overdue = block_on(rota_store::Reader::overdue(&mut reader, Millis(60), 9)).unwrap();
    assert_eq!(overdue.jobs.iter().map(|job| job.seq.0).collect::<Vec<_>>(), [2]);
    let batch = Batch { number: 8, now: Millis(80), next_seq: Seq(4), mutations: vec![] };
    block_on(store.commit(&batch)).unwrap();
    drop((reader, store));
    let conn = Connection::open(directory.file("rota.db")).unwrap();
    let version: u32 = conn.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 3);
    let cron: String = conn
        .query_row("SELECT json FROM named", [], |row| {
            row.get(0).map(|json: Vec<u8>| String::from_utf8(json).unwrap())
        })
        .unwrap();
    assert_eq!(cron, r#"{"at":5,"body":"\"type\":\"x\""}"#);
    conn.execute("INSERT INTO history VALUES (0, 'default', 0, x'')", []).unwrap();
}

#[test]
fn a_creation_that_was_cut_short_starts_anew() {
    let directory = Directory::new();
    fs::write(directory.file("rota.db"), "").unwrap();
    block_on(directory.open().commit(&first_batch())).unwrap();
}

#[test]
fn a_path_that_is_a_file_is_unusable() {
    let directory = Directory::new();
    let path = directory.file("file");
    fs::write(&path, "").unwrap();
    let error = SqliteStore::open(&path, Options::default()).err().expect("it is refused");
    assert!(matches!(error, OpenError::Unusable { .. }), "{error}");
    assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
}

fn first_batch() -> Batch {
    Batch { number: 1, now: Millis(1), next_seq: Seq(1), mutations: vec![] }
}

fn refused(directory: &Directory) -> OpenError {
    directory.try_open().err().expect("it is refused")
}
