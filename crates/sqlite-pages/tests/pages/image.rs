//! The files of a database that was killed, and what each of its states contained.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rota_sqlite_pages::{WalTail, inspect_wal, reserve, take_last};
use rusqlite::ffi::SQLITE_IOERR_DATA;
use rusqlite::{Connection, ErrorCode};
use tempfile::TempDir;

use crate::database::open;

pub const PAGE: usize = 4096;
/// `meta` is the second page, and every transaction writes it.
pub const FIRST_PAGES: u32 = 2;

/// All rows: by key from the table, by name from the index, and with their bodies.
type State = (Vec<(i64, String, Vec<u8>)>, Vec<String>);

/// What a server left when it was killed: pages of the first transactions in the log are in the database file too.
pub struct Image {
    pub database: Vec<u8>,
    pub log: Vec<u8>,
    /// The state after each transaction whose pages are in the log.
    states: BTreeMap<i64, State>,
}

/// What came of reading damaged files.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The newest state, or an earlier one of those in the log.
    Right { transaction: i64 },
    /// The damage was noticed.
    Refused,
    /// Something that never was the state.
    Wrong(String),
}

impl Image {
    /// Of a server that was killed.
    pub fn killed(vfs: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        let conn = open(&path, vfs).unwrap();
        reserve(&conn).unwrap();
        conn.execute_batch(
            "PRAGMA page_size = 4096; PRAGMA journal_mode = wal; PRAGMA synchronous = normal;
             PRAGMA wal_autocheckpoint = 0;
             CREATE TABLE meta (one INTEGER PRIMARY KEY, n INTEGER); INSERT INTO meta VALUES (1, 0);
             CREATE TABLE t (k INTEGER PRIMARY KEY, name TEXT, body BLOB);
             CREATE INDEX names ON t (name);",
        )
        .unwrap();
        for number in 0..6 {
            change(&conn, number);
        }
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        let mut states = BTreeMap::from([state(&conn).unwrap()]);
        for number in 6..10 {
            replace_bodies(&conn, number);
            states.extend([state(&conn).unwrap()]);
        }
        // Keeps the log from beginning anew.
        let reader = open(&path, vfs).unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM meta").unwrap();
        conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
        for number in 10..13 {
            change(&conn, number);
            states.extend([state(&conn).unwrap()]);
        }
        let free: i64 = conn.pragma_query_value(None, "freelist_count", |row| row.get(0)).unwrap();
        assert!(free > 3, "{free} free pages");
        let read = |suffix: &str| fs::read(with_suffix(&path, suffix)).unwrap();
        Self { database: read(""), log: read("-wal"), states }
    }

    /// Of a server that was stopped in order: there is nothing in the log.
    pub fn closed(vfs: &str) -> Self {
        let image = Self::killed(vfs);
        let directory = tempfile::tempdir().unwrap();
        let path = image.write(&directory);
        let conn = open(&path, vfs).unwrap();
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        let states = BTreeMap::from([state(&conn).unwrap()]);
        Self { database: fs::read(&path).unwrap(), log: Vec::new(), states }
    }

    /// The newest transaction.
    pub fn newest(&self) -> i64 {
        *self.states.keys().next_back().unwrap()
    }

    /// Writes the files as if the server had been killed.
    pub fn write(&self, directory: &TempDir) -> PathBuf {
        let path = directory.path().join("x.db");
        let _ = fs::remove_file(with_suffix(&path, "-shm"));
        fs::write(&path, &self.database).unwrap();
        fs::write(with_suffix(&path, "-wal"), &self.log).unwrap();
        path
    }

    /// Reads everything as the next server would.
    pub fn start(&self, path: &Path, vfs: &str, inspects_log: bool) -> Outcome {
        if inspects_log && matches!(inspect_wal(path, FIRST_PAGES).unwrap(), WalTail::Damaged(_)) {
            return Outcome::Refused;
        }
        self.read(path, vfs)
    }

    /// Reads everything on a connection of its own.
    pub fn read(&self, path: &Path, vfs: &str) -> Outcome {
        let (transaction, found) = match open(path, vfs).and_then(|conn| state(&conn)) {
            Ok(found) => found,
            Err(error) => return refused(&error),
        };
        match self.states.get(&transaction) {
            Some(state) if *state == found => Outcome::Right { transaction },
            Some(_) => Outcome::Wrong(format!("transaction {transaction} was not like that")),
            None => Outcome::Wrong(format!("transaction {transaction} is not in the files")),
        }
    }
}

/// The error must say that it is about damage.
fn refused(error: &rusqlite::Error) -> Outcome {
    let named = take_last();
    match error.sqlite_error() {
        Some(code) if code.extended_code == SQLITE_IOERR_DATA => {
            named.map_or_else(|| Outcome::Wrong(error.to_string()), |_| Outcome::Refused)
        }
        Some(code) if code.code == ErrorCode::DatabaseCorrupt => Outcome::Refused,
        Some(code) if code.code == ErrorCode::NotADatabase => Outcome::Refused,
        _ => Outcome::Wrong(error.to_string()),
    }
}

/// A transaction that adds rows, some with overflow pages, changes some and deletes others.
fn change(conn: &Connection, number: i64) {
    conn.execute_batch("BEGIN; UPDATE meta SET n = n + 1").unwrap();
    for key in number * 60..number * 60 + 60 {
        let bytes = if key % 15 == 0 { 9_000 } else { 40 };
        let body: Vec<u8> = (0..bytes).map(|i: usize| (i as i64 * 7 + key) as u8).collect();
        let row = (key, format!("name {:05}", key * 7919 % 10_007), body);
        conn.execute("INSERT INTO t VALUES (?1, ?2, ?3)", row).unwrap();
    }
    conn.execute("UPDATE t SET body = x'00' || body WHERE k % 17 = ?1", [number]).unwrap();
    conn.execute("DELETE FROM t WHERE k % 13 = ?1 AND k < ?2", [number % 13, number * 60]).unwrap();
    conn.execute_batch("COMMIT").unwrap();
}

/// A transaction that changes only what is in some pages, so that SQLite could not notice if they were of another state
/// than the rest.
fn replace_bodies(conn: &Connection, number: i64) {
    let keys = (number - 6) * 90..(number - 5) * 90;
    conn.execute_batch("BEGIN; UPDATE meta SET n = n + 1").unwrap();
    let sql = "UPDATE t SET body = zeroblob(length(body)) WHERE k >= ?1 AND k < ?2 AND k % 15 > 0";
    assert!(conn.execute(sql, (keys.start, keys.end)).unwrap() > 0);
    conn.execute_batch("COMMIT").unwrap();
}

/// The number of the last transaction, and the state after it.
fn state(conn: &Connection) -> rusqlite::Result<(i64, State)> {
    conn.execute_batch("BEGIN")?;
    let number = conn.query_row("SELECT n FROM meta", [], |row| row.get(0))?;
    let mut rows = conn.prepare("SELECT k, name, CAST(body AS BLOB) FROM t ORDER BY k")?;
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let rows = rows.collect::<rusqlite::Result<_>>()?;
    let mut names = conn.prepare("SELECT name FROM t INDEXED BY names ORDER BY name")?;
    let names = names.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    conn.execute_batch("COMMIT")?;
    Ok((number, (rows, names)))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
