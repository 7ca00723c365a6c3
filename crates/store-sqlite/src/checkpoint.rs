//! Moving what was committed from the log into the file proper.

use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use crate::fault::Fault;
use crate::pragma::PATIENCE;

/// A commit that finds this many pages in the log moves them, which bounds the log under load.
const AUTOMATIC_PAGES: u64 = 4096;
const FEWEST_PAGES: u64 = 64;

/// The bound on the log. Moving it must be possible in the space that is kept in reserve.
pub(crate) fn automatic_pages(reserve_bytes: u64, page_bytes: u64) -> u64 {
    match reserve_bytes {
        0 => AUTOMATIC_PAGES,
        bytes => (bytes / 2 / page_bytes).clamp(FEWEST_PAGES, AUTOMATIC_PAGES),
    }
}

/// Below this an idle moment is not worth two fsyncs.
const WORTH_PAGES: i64 = 256;

/// Moves what there is, if it is worth it, without waiting for readers.
pub(crate) fn when_worth_it(conn: &Connection) -> Result<(), Fault> {
    let counted = conn
        .prepare_cached("PRAGMA wal_checkpoint(NOOP)")?
        .query_row([], |row| Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?));
    match counted {
        Ok(waiting) if waiting >= WORTH_PAGES => now(conn),
        Ok(_) => Ok(()),
        Err(error) if is_full(&error) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

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
