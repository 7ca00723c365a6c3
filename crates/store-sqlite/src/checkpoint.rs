//! Moving what was committed from the log into the file proper.

use std::time::Duration;

use rusqlite::{Connection, ErrorCode, Row};

use crate::fault::Fault;
use crate::pragma::PATIENCE;

/// How many pages the log holds under load, about.
const USUAL_PAGES: u64 = 4096;
const FEWEST_PAGES: u64 = 64;

/// The bound on the log. Moving it must be possible in the space that is kept in reserve.
pub(crate) fn bound(reserve_bytes: u64, page_bytes: u64) -> u64 {
    match reserve_bytes {
        0 => USUAL_PAGES,
        bytes => (bytes / 2 / page_bytes).clamp(FEWEST_PAGES, USUAL_PAGES),
    }
}

/// Below this an idle moment is not worth two fsyncs.
const WORTH_PAGES: u64 = 256;

/// How long the log is, and how much of it is in the file already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Log {
    pub pages: u64,
    pub moved: u64,
}

impl Log {
    pub fn is_worth_moving(self) -> bool {
        self.pages - self.moved >= WORTH_PAGES
    }
}

pub(crate) fn log(conn: &Connection) -> Result<Log, Fault> {
    let pages = |row: &Row<'_>, column| row.get::<_, i64>(column).map(|n| n.max(0) as u64);
    let counted = conn
        .prepare_cached("PRAGMA wal_checkpoint(NOOP)")?
        .query_row([], |row| Ok(Log { pages: pages(row, 1)?, moved: pages(row, 2)? }));
    match counted {
        Err(error) if is_full(&error) => Ok(Log::default()),
        counted => Ok(counted?),
    }
}

/// Moves what there is, without waiting for readers.
pub(crate) fn now(conn: &Connection) -> Result<(), Fault> {
    run(conn, "PRAGMA wal_checkpoint(PASSIVE)")
}

/// Our own readers are gone sooner. A backup is not, and nobody should wait for it.
const PATIENCE_WITH_READERS: Duration = Duration::from_millis(250);

/// Moves everything and empties the log, unless a reader is in the way.
pub(crate) fn and_truncate(conn: &Connection) -> Result<(), Fault> {
    conn.busy_timeout(PATIENCE_WITH_READERS)?;
    let truncated = run(conn, "PRAGMA wal_checkpoint(TRUNCATE)");
    conn.busy_timeout(PATIENCE)?;
    truncated
}

/// On a full disk there may be no room to move anything to. That loses nothing: it is durable in
/// the log, and the next start reads it there.
fn run(conn: &Connection, pragma: &str) -> Result<(), Fault> {
    match conn.prepare_cached(pragma)?.query_row([], |_| Ok(())) {
        Err(error) if is_full(&error) => Ok(()),
        moved => Ok(moved?),
    }
}

fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}
