//! Where the log of a database begins.

use rusqlite::{Connection, Row};

use crate::internal_error::InternalError;
use crate::{checkpoint, migrate};

/// The log that a database follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogStart {
    /// The batch that the log begins behind; `None` if there is no log yet. A new, migrated or restored
    /// database has none, and whatever lies in its place belongs to another history.
    pub base: Option<u64>,
    /// The last batch in the database.
    pub number: u64,
    /// The term of that batch, or of the first one of a log that does not exist yet.
    pub term: u64,
}

pub(crate) fn read(conn: &Connection) -> Result<LogStart, InternalError> {
    let read = |row: &Row<'_>| {
        Ok(LogStart {
            base: row.get::<_, Option<i64>>(0)?.map(|base| base as u64),
            number: row.get::<_, i64>(1)? as u64,
            term: row.get::<_, i64>(2)? as u64,
        })
    };
    Ok(conn.query_row("SELECT log_base, number, term FROM meta", [], read)?)
}

/// Survives a power cut: otherwise the next start would take the log for another history's.
pub(crate) fn set_begun(conn: &Connection) -> Result<(), InternalError> {
    conn.pragma_update(None, "synchronous", "full")?;
    conn.execute("UPDATE meta SET log_base = number", [])?;
    checkpoint::passive(conn)?;
    Ok(conn.pragma_update(None, "synchronous", "normal")?)
}

/// Has the next start begin a new log under this term. Formats without a log begin one in any case.
pub(crate) fn begin_term(conn: &Connection, term: u64) -> rusqlite::Result<()> {
    if conn.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0))? < migrate::LOG {
        return Ok(());
    }
    conn.execute("UPDATE meta SET log_base = NULL, term = ?1", [term as i64]).map(drop)
}
