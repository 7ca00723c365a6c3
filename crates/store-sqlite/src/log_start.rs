//! Where the log of a database begins.

use rota_model::IdKey;
use rusqlite::{Connection, OptionalExtension, Row};

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
    /// The term under which the log is written.
    pub term: u64,
    /// The record before the first of this term, if an earlier term has it: where a restore went back to.
    pub parent: Option<LogRecord>,
    pub id_key: IdKey,
}

/// A record of a log. Its term and checksum tell it from one with the same index in another history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRecord {
    pub index: u64,
    pub term: u64,
    /// 0 if it is not known.
    pub checksum: u64,
}

impl LogStart {
    /// The record that the database has applied last.
    #[must_use]
    pub fn last(&self) -> LogRecord {
        let unknown = LogRecord { index: self.number, term: self.term, checksum: 0 };
        self.parent.filter(|parent| parent.index == self.number).unwrap_or(unknown)
    }
}

pub(crate) fn read(conn: &Connection) -> Result<LogStart, InternalError> {
    let parent = read_parent(conn)?;
    let read = |row: &Row<'_>| {
        Ok(LogStart {
            base: row.get::<_, Option<i64>>(0)?.map(|base| base as u64),
            number: row.get::<_, i64>(1)? as u64,
            term: row.get::<_, i64>(2)? as u64,
            parent,
            id_key: IdKey(row.get::<_, i64>(3)? as u64),
        })
    };
    Ok(conn.query_row("SELECT log_base, number, term, id_key FROM meta", [], read)?)
}

fn read_parent(conn: &Connection) -> Result<Option<LogRecord>, InternalError> {
    if !migrate::has_table(conn, "log_parent")? {
        return Ok(None);
    }
    let read = |row: &Row<'_>| {
        let number = |column| row.get::<_, i64>(column).map(|number| number as u64);
        Ok(LogRecord { index: number(0)?, term: number(1)?, checksum: number(2)? })
    };
    let parent = "SELECT number, term, checksum FROM log_parent";
    Ok(conn.query_row(parent, [], read).optional()?)
}

/// Survives a power cut: otherwise the next start would take the log for another history's.
pub(crate) fn set_begun(conn: &Connection) -> Result<(), InternalError> {
    durably(conn, |conn| conn.execute("UPDATE meta SET log_base = number", []).map(drop))
}

/// Has the next start begin a new log under this term, behind `parent`. Without it, the new log begins behind the
/// last batch. Formats without a log begin one in any case.
pub(crate) fn begin_term(
    conn: &Connection,
    term: u64,
    parent: Option<LogRecord>,
) -> rusqlite::Result<()> {
    if conn.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0))? < migrate::LOG {
        return Ok(());
    }
    // A database that followed a log knows at least the term of its last batch.
    let known = "INSERT INTO log_parent SELECT number, term, 0 FROM meta
                 WHERE log_base < number AND number NOT IN (SELECT number FROM log_parent)";
    set_parent(conn, parent)?;
    conn.execute(known, [])?;
    conn.execute("DELETE FROM log_parent WHERE number <> (SELECT number FROM meta)", [])?;
    conn.execute("UPDATE meta SET log_base = NULL, term = ?1", [term as i64]).map(drop)
}

/// Has the database follow a log that exists, and that begins behind `base`.
pub(crate) fn follow(
    conn: &Connection,
    base: u64,
    term: u64,
    parent: Option<LogRecord>,
) -> Result<(), InternalError> {
    durably(conn, |conn| {
        set_parent(conn, parent)?;
        let values = (base as i64, term as i64);
        conn.execute("UPDATE meta SET log_base = ?1, term = ?2", values).map(drop)
    })
}

/// The table is made when it is needed, so that a backup does not change the format of what it copies.
fn set_parent(conn: &Connection, parent: Option<LogRecord>) -> rusqlite::Result<()> {
    conn.execute_batch(
        "CREATE TABLE IF NOT EXISTS log_parent (
            number INTEGER NOT NULL, term INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT",
    )?;
    let Some(LogRecord { index, term, checksum }) = parent else { return Ok(()) };
    conn.execute("DELETE FROM log_parent", [])?;
    let values = (index as i64, term as i64, checksum as i64);
    conn.execute("INSERT INTO log_parent VALUES (?1, ?2, ?3)", values).map(drop)
}

/// Changes the database and moves the change into its file.
fn durably(
    conn: &Connection,
    change: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<(), InternalError> {
    conn.pragma_update(None, "synchronous", "full")?;
    change(conn)?;
    checkpoint::passive(conn)?;
    Ok(conn.pragma_update(None, "synchronous", "normal")?)
}
