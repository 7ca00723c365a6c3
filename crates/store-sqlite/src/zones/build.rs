//! Building the zones of an older database when it is migrated.

use rota_model::ClassId;
use rusqlite::Connection;

use super::OpenZones;
use crate::internal_error::InternalError;

/// Builds all zones in one pass over the tables `live` and `done`.
pub(crate) fn build(conn: &Connection) -> Result<(), InternalError> {
    let next_seq = conn.query_row("SELECT next_seq FROM meta", [], |row| row.get(0))?;
    let mut zones = OpenZones::first();
    let mut statement = conn.prepare(
        "SELECT seq, class FROM live UNION ALL SELECT seq, class FROM done ORDER BY seq",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        zones.add_job(conn, row.get(0)?, ClassId(row.get(1)?))?;
    }
    zones.advance(conn, next_seq)
}
