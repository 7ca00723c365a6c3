//! A database with checksums, and what SQLite does with it.

use std::fs;
use std::path::{Path, PathBuf};

use rota_sqlite_pages::{VFS, damaged_pages, has_checksums, register, reserve, take_last};
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

const PAGE: usize = 4096;

pub struct Files {
    /// Deleted when this is dropped.
    _directory: TempDir,
    pub path: PathBuf,
}

pub fn open(path: &Path, vfs: &str) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs)?;
    conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(conn)
}

/// A database in WAL mode with a table of short rows, an index, and rows that need overflow pages.
pub fn create(vfs: &str) -> (Files, Connection) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.db");
    let conn = open(&path, vfs).unwrap();
    reserve(&conn).unwrap();
    conn.execute_batch(
        "PRAGMA page_size = 4096; PRAGMA journal_mode = wal; PRAGMA synchronous = normal;
         PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 10;
         CREATE TABLE meta (one INTEGER PRIMARY KEY, n INTEGER); INSERT INTO meta VALUES (1, 0);
         CREATE TABLE t (k INTEGER PRIMARY KEY, name TEXT, body BLOB);
         CREATE INDEX names ON t (name);",
    )
    .unwrap();
    (Files { _directory: directory, path }, conn)
}

pub fn insert(conn: &Connection, keys: std::ops::Range<i64>) {
    conn.execute_batch("BEGIN; UPDATE meta SET n = n + 1").unwrap();
    insert_rows(conn, keys);
    conn.execute_batch("COMMIT").unwrap();
}

fn insert_rows(conn: &Connection, keys: std::ops::Range<i64>) {
    for key in keys {
        let bytes = if key % 10 == 0 { 10_000 } else { 50 };
        let body = vec![(key % 251) as u8; bytes];
        conn.execute("INSERT INTO t VALUES (?1, ?2, ?3)", (key, format!("name {key}"), body))
            .unwrap();
    }
}

pub fn checkpoint(conn: &Connection) {
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
}

fn count(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row("SELECT count(*) + 0 * sum(length(hex(body))) FROM t NOT INDEXED", [], |row| {
        row.get(0)
    })
}

#[test]
fn every_page_has_a_checksum() {
    let vfs = register().unwrap();
    let (files, conn) = create(vfs);
    insert(&conn, 0..500);
    assert_eq!(count(&conn).unwrap(), 500);
    conn.execute("DELETE FROM t WHERE k % 3 = 0", []).unwrap();
    insert(&conn, 500..900);
    checkpoint(&conn);
    assert!(has_checksums(&files.path).unwrap());
    assert_eq!(damaged_pages(&files.path, 10).unwrap(), []);
    let sound: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    drop(conn);
    let conn = open(&files.path, vfs).unwrap();
    assert_eq!(count(&conn).unwrap(), 733);
    let plain = Connection::open(&files.path).unwrap();
    assert_eq!(count(&plain).unwrap(), 733, "SQLite itself can read it");
}

/// With a write-ahead log, SQLite writes free pages too, so there are no holes in the file.
#[test]
fn pages_can_be_freed_and_used_again_within_a_transaction() {
    let vfs = register().unwrap();
    let (files, conn) = create(vfs);
    insert(&conn, 0..20);
    conn.execute_batch("BEGIN").unwrap();
    for key in 1000..1020 {
        let bytes = 100_000 + 20_000 * (key % 7);
        conn.execute("INSERT INTO t VALUES (?1, '', randomblob(?2))", [key, bytes]).unwrap();
        conn.execute("INSERT INTO t VALUES (?1, ?1, zeroblob(500))", [key + 100]).unwrap();
        conn.execute("DELETE FROM t WHERE k = ?1", [key]).unwrap();
    }
    insert_rows(&conn, 2000..2200);
    conn.execute_batch("COMMIT").unwrap();
    assert_eq!(count(&conn).unwrap(), 240);
    checkpoint(&conn);
    assert_eq!(damaged_pages(&files.path, 10).unwrap(), []);
    let sound: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

#[test]
fn a_damaged_page_is_an_error_that_names_it() {
    let vfs = register().unwrap();
    let (files, conn) = create(vfs);
    insert(&conn, 0..500);
    checkpoint(&conn);
    drop(conn);
    let mut bytes = fs::read(&files.path).unwrap();
    let last = bytes.len() / PAGE;
    bytes[(last - 1) * PAGE + 1234] ^= 4;
    fs::write(&files.path, &bytes).unwrap();
    let conn = open(&files.path, vfs).unwrap();
    let error = count(&conn).unwrap_err();
    assert_eq!(error.sqlite_error().unwrap().extended_code, rusqlite::ffi::SQLITE_IOERR_DATA);
    let message = take_last().unwrap().to_string();
    let expected = format!("page {last} of {} does not match its checksum", files.path.display());
    assert_eq!(message, expected);
    assert_eq!(damaged_pages(&files.path, 10).unwrap(), [last as u32]);
    assert_eq!(VFS, vfs);
}

#[test]
fn a_page_in_the_wrong_place_is_an_error() {
    let vfs = register().unwrap();
    let (files, conn) = create(vfs);
    insert(&conn, 0..500);
    checkpoint(&conn);
    drop(conn);
    let mut bytes = fs::read(&files.path).unwrap();
    let last = bytes.len() - PAGE;
    bytes.copy_within(last.., last - PAGE);
    fs::write(&files.path, &bytes).unwrap();
    assert_eq!(damaged_pages(&files.path, 10).unwrap(), [(last / PAGE) as u32]);
    let conn = open(&files.path, vfs).unwrap();
    let names =
        || conn.query_row("SELECT sum(length(name)) FROM t INDEXED BY names", [], |_| Ok(()));
    assert!(count(&conn).is_err() || names().is_err());
}

#[test]
fn a_file_that_is_too_short_is_an_error() {
    let vfs = register().unwrap();
    let (files, conn) = create(vfs);
    insert(&conn, 0..500);
    checkpoint(&conn);
    insert(&conn, 500..510);
    drop(conn);
    let bytes = fs::read(&files.path).unwrap();
    fs::write(&files.path, &bytes[..bytes.len() - 2 * PAGE]).unwrap();
    let conn = open(&files.path, vfs).unwrap();
    assert!(count(&conn).is_err());
}
