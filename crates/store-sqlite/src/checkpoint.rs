//! Checkpoints: copying committed pages from SQLite's write-ahead log (WAL) into the database file.

use std::time::Duration;

use rusqlite::{Connection, ErrorCode, Row};

use crate::internal_error::InternalError;

/// Target length of the WAL under load.
const MAX_PAGES: u64 = 4096;
const MIN_PAGES: u64 = 64;

/// Target length of the WAL in pages. Half of the reserve must be enough to checkpoint all of it.
pub(crate) fn page_limit(reserve_bytes: u64, page_bytes: u64) -> u64 {
    match reserve_bytes {
        0 => MAX_PAGES,
        bytes => (bytes / 2 / page_bytes).clamp(MIN_PAGES, MAX_PAGES),
    }
}

/// An idle checkpoint costs two fsyncs, which is not worth it for fewer pages.
const MIN_IDLE_PAGES: u64 = 256;

/// Length of the WAL, and how much of it is in the database file already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Wal {
    pub pages: u64,
    pub checkpointed: u64,
}

impl Wal {
    pub fn is_worth_checkpointing(self) -> bool {
        self.pages - self.checkpointed >= MIN_IDLE_PAGES
    }
}

pub(crate) fn wal_state(conn: &Connection) -> Result<Wal, InternalError> {
    let pages = |row: &Row<'_>, column| row.get::<_, i64>(column).map(|n| n.max(0) as u64);
    let state = conn
        .prepare_cached("PRAGMA wal_checkpoint(NOOP)")?
        .query_row([], |row| Ok(Wal { pages: pages(row, 1)?, checkpointed: pages(row, 2)? }));
    match state {
        Err(error) if is_full(&error) => Ok(Wal::default()),
        state => Ok(state?),
    }
}

/// Checkpoints as much as possible without waiting for readers. Returns whether everything that was committed
/// before is in the database file now.
pub(crate) fn passive(conn: &Connection) -> Result<bool, InternalError> {
    run(conn, "PRAGMA wal_checkpoint(PASSIVE)")
}

/// How long a truncation waits for readers. The server's own readers finish sooner; a backup does
/// not, and must not block the server.
const TRUNCATE_TIMEOUT: Duration = Duration::from_millis(250);

/// Checkpoints everything and truncates the WAL, unless a reader still uses it. Returns whether it was
/// truncated.
pub(crate) fn truncate(conn: &Connection) -> Result<bool, InternalError> {
    soon(conn, "PRAGMA wal_checkpoint(TRUNCATE)")
}

/// Checkpoints everything, so that the WAL restarts in the space that it has, unless a reader still uses it.
/// Returns whether everything was checkpointed.
pub(crate) fn restart(conn: &Connection) -> Result<bool, InternalError> {
    soon(conn, "PRAGMA wal_checkpoint(RESTART)")
}

/// Waits for readers for a short time only.
fn soon(conn: &Connection, pragma: &str) -> Result<bool, InternalError> {
    let usual_ms: i64 = conn.pragma_query_value(None, "busy_timeout", |row| row.get(0))?;
    conn.busy_timeout(TRUNCATE_TIMEOUT)?;
    let done = run(conn, pragma);
    conn.pragma_update(None, "busy_timeout", usual_ms)?;
    done
}

/// A full disk is not an error: the pages stay durable in the WAL, and the next start reads them
/// there.
fn run(conn: &Connection, pragma: &str) -> Result<bool, InternalError> {
    let is_complete = |row: &Row<'_>| {
        let (busy, pages, checkpointed): (bool, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(!busy && pages == checkpointed)
    };
    match conn.prepare_cached(pragma)?.query_row([], is_complete) {
        Err(error) if is_full(&error) => Ok(false),
        complete => Ok(complete?),
    }
}

fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_kind::PageKind;
    use crate::pragma::{connect, enable_wal};

    /// On a full disk and at shutdown, the server truncates its WAL. It must not wait for a backup.
    #[test]
    fn a_truncation_ends_while_somebody_still_reads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.db");
        let open = || connect(&path, PageKind::Checked).unwrap();
        let (writer, reader) = (open(), open());
        assert!(enable_wal(&writer).unwrap());
        writer.execute_batch("CREATE TABLE t (a)").unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM t").unwrap();
        writer.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        // Anything that waits for the reader never ends.
        let hour_ms = 3_600_000_i64;
        writer.busy_timeout(Duration::from_millis(hour_ms as u64)).unwrap();
        truncate(&writer).unwrap();
        assert!(wal_state(&writer).unwrap().pages > 0, "the reader still needs the WAL");
        let usual: i64 = writer.pragma_query_value(None, "busy_timeout", |row| row.get(0)).unwrap();
        assert_eq!(usual, hour_ms);
        reader.execute_batch("COMMIT").unwrap();
        truncate(&writer).unwrap();
        assert_eq!(wal_state(&writer).unwrap(), Wal::default());
    }
}
