//! How a connection is set up.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use crate::checkpoint::bound;
use crate::fault::Fault;
use crate::{Durability, Options};

const PAGE_BYTES: u32 = 8192;
/// Negative numbers are KiB. The writer's own pages are few and recent; a larger cache only makes
/// each commit slower, since SQLite looks through all of it whenever pages were rebalanced.
const WRITER_CACHE: i64 = -16 * 1024;
const READER_CACHE: i64 = -8 * 1024;
/// The log is cut back to this when it starts over after a burst.
const LOG_BYTES_KEPT: u64 = 64 << 20;
/// All statements of one side fit.
const STATEMENTS: usize = 64;
/// Writer and readers do not block each other; only opening and closing may meet for a moment.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// A connection that has not touched the file yet.
pub(crate) fn connect(path: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    for_any_use(&conn)?;
    Ok(conn)
}

pub(crate) fn for_any_use(conn: &Connection) -> Result<(), Fault> {
    conn.busy_timeout(PATIENCE)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // Dropping a connection must be quick and leave the file as a crash would.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(conn.pragma_update(None, "temp_store", "memory")?)
}

pub(crate) fn for_creation(conn: &Connection) -> Result<(), Fault> {
    conn.pragma_update(None, "page_size", PAGE_BYTES)?;
    Ok(conn.pragma_update(None, "synchronous", "full")?)
}

/// Switches to the write-ahead log, unless the file system cannot share memory for it.
pub(crate) fn use_log(conn: &Connection) -> Result<bool, Fault> {
    let mode: String =
        conn.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    Ok(mode == "wal")
}

pub(crate) fn for_writing(conn: &Connection, options: Options) -> Result<(), Fault> {
    let synchronous = match options.durability {
        Durability::Fsync => "full",
        Durability::Os => "normal",
    };
    conn.pragma_update(None, "synchronous", synchronous)?;
    conn.pragma_update(None, "cache_size", WRITER_CACHE)?;
    conn.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT as i64)?;
    // The mover does that.
    Ok(conn.pragma_update(None, "wal_autocheckpoint", 0)?)
}

/// The log is to stay shorter than this many pages.
pub(crate) fn log_bound(options: Options) -> u64 {
    bound(options.reserve_bytes, PAGE_BYTES.into())
}

pub(crate) fn for_reading(conn: &Connection) -> Result<(), Fault> {
    conn.pragma_update(None, "cache_size", READER_CACHE)?;
    Ok(conn.pragma_update(None, "query_only", true)?)
}

pub(crate) fn is_read_only(conn: &Connection) -> Result<bool, Fault> {
    Ok(conn.is_readonly(MAIN_DB)?)
}
