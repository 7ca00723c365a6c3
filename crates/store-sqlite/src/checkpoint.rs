//! Checkpoints: copying committed pages from SQLite's write-ahead log (WAL) into the database file.

use std::time::Duration;

use rusqlite::{Connection, ErrorCode, Row};

use crate::internal_error::InternalError;
use crate::pragma::BUSY_TIMEOUT;

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

/// Checkpoints as much as possible without waiting for readers.
pub(crate) fn passive(conn: &Connection) -> Result<(), InternalError> {
    run(conn, "PRAGMA wal_checkpoint(PASSIVE)")
}

/// How long a truncation waits for readers. The server's own readers finish sooner; a backup does
/// not, and must not block the server.
const TRUNCATE_TIMEOUT: Duration = Duration::from_millis(250);

/// Checkpoints everything and truncates the WAL, unless a reader still uses it.
pub(crate) fn truncate(conn: &Connection) -> Result<(), InternalError> {
    conn.busy_timeout(TRUNCATE_TIMEOUT)?;
    let truncated = run(conn, "PRAGMA wal_checkpoint(TRUNCATE)");
    conn.busy_timeout(BUSY_TIMEOUT)?;
    truncated
}

/// A full disk is not an error: the pages stay durable in the WAL, and the next start reads them
/// there.
fn run(conn: &Connection, pragma: &str) -> Result<(), InternalError> {
    match conn.prepare_cached(pragma)?.query_row([], |_| Ok(())) {
        Err(error) if is_full(&error) => Ok(()),
        checkpointed => Ok(checkpointed?),
    }
}

fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}
