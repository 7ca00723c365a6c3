//! Opening SQLite connections and setting their pragmas.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use crate::Options;
use crate::checkpoint::page_limit;
use crate::internal_error::InternalError;
use crate::page_kind::PageKind;

const PAGE_BYTES: u32 = 8192;
/// Cache sizes in KiB, which SQLite expects as negative numbers. The writer uses few and recent
/// pages. A larger cache makes commits slower, because SQLite scans all of it after rebalancing
/// pages.
const WRITER_CACHE: i64 = -16 * 1024;
const READER_CACHE: i64 = -8 * 1024;
/// The write-ahead log is truncated to this size when it restarts after a burst.
const WAL_SIZE_LIMIT: u64 = 64 << 20;
/// Capacity of the statement cache; all statements of a connection fit.
const CACHED_STATEMENTS: usize = 64;
/// Writer and readers do not block each other; only opening and closing connections may, briefly.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens a connection without reading the file yet.
pub(crate) fn connect(path: &Path, pages: PageKind) -> Result<Connection, InternalError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = pages.open(path, flags)?;
    configure(&conn)?;
    Ok(conn)
}

pub(crate) fn configure(conn: &Connection) -> Result<(), InternalError> {
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    // Dropping a connection must be fast, and must leave the file as a crash would.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(conn.pragma_update(None, "temp_store", "memory")?)
}

pub(crate) fn configure_creation(conn: &Connection) -> Result<(), InternalError> {
    rota_sqlite_pages::reserve(conn)?;
    conn.pragma_update(None, "page_size", PAGE_BYTES)?;
    Ok(conn.pragma_update(None, "synchronous", "full")?)
}

/// Enables the write-ahead log. Returns false if the file system does not support the shared memory
/// it needs.
pub(crate) fn enable_wal(conn: &Connection) -> Result<bool, InternalError> {
    let mode: String =
        conn.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    Ok(mode == "wal")
}

/// Only checkpoints are synced: after a power cut the database is consistent but may be behind, and the log
/// has the rest.
pub(crate) fn configure_writer(conn: &Connection) -> Result<(), InternalError> {
    conn.pragma_update(None, "synchronous", "normal")?;
    conn.pragma_update(None, "cache_size", WRITER_CACHE)?;
    conn.pragma_update(None, "journal_size_limit", WAL_SIZE_LIMIT as i64)?;
    // The checkpointer replaces automatic checkpoints.
    Ok(conn.pragma_update(None, "wal_autocheckpoint", 0)?)
}

/// Target length of the write-ahead log in pages.
pub(crate) fn wal_page_limit(options: Options) -> u64 {
    page_limit(options.reserve_bytes, PAGE_BYTES.into())
}

pub(crate) fn configure_reader(conn: &Connection) -> Result<(), InternalError> {
    conn.pragma_update(None, "cache_size", READER_CACHE)?;
    Ok(conn.pragma_update(None, "query_only", true)?)
}

pub(crate) fn is_read_only(conn: &Connection) -> Result<bool, InternalError> {
    Ok(conn.is_readonly(MAIN_DB)?)
}
