//! Moving what was committed from the log into the file proper.

use rusqlite::Connection;

use crate::fault::Fault;

/// A commit that finds this many pages in the log moves them, which bounds the log under load.
pub(crate) const AUTOMATIC_PAGES: u32 = 8192;

/// Below this an idle moment is not worth two fsyncs.
const WORTH_PAGES: i64 = 256;

/// Moves what there is, if it is worth it, without waiting for readers.
pub(crate) fn when_worth_it(conn: &Connection) -> Result<(), Fault> {
    let (in_log, moved) = run(conn, "PRAGMA wal_checkpoint(NOOP)")?;
    if in_log - moved >= WORTH_PAGES {
        now(conn)?;
    }
    Ok(())
}

pub(crate) fn now(conn: &Connection) -> Result<(), Fault> {
    run(conn, "PRAGMA wal_checkpoint(PASSIVE)").map(drop)
}

/// Moves everything and empties the log, unless a reader is in the way.
pub(crate) fn and_truncate(conn: &Connection) -> Result<(), Fault> {
    run(conn, "PRAGMA wal_checkpoint(TRUNCATE)").map(drop)
}

fn run(conn: &Connection, pragma: &str) -> Result<(i64, i64), Fault> {
    Ok(conn
        .prepare_cached(pragma)?
        .query_row([], |row| Ok((row.get(1)?, row.get(2)?)))?)
}
