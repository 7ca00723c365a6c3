//! The zones of a database that had none.

use rota_model::ClassId;
use rusqlite::Connection;

use super::OpenZones;
use crate::fault::Fault;

/// One pass over the narrow tables, in order; what a zone tells is of jobs that lists can show.
pub(crate) fn build(conn: &Connection) -> Result<(), Fault> {
    let next_seq = conn.query_row("SELECT next_seq FROM meta", [], |row| row.get(0))?;
    let mut zones = OpenZones::first();
    let mut statement = conn.prepare(
        "SELECT seq, class FROM live UNION ALL SELECT seq, class FROM done ORDER BY seq",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        zones.note(conn, row.get(0)?, ClassId(row.get(1)?))?;
    }
    zones.open(conn, next_seq)
}
