//! Finding finished jobs whose retention time has passed.

use rota_model::{Millis, Overdue};
use rusqlite::Connection;

use crate::internal_error::InternalError;
use crate::{load, row};

/// Maximum number of `purge` rows to read per call; their jobs may all be deleted already.
const MAX_PURGE_ROWS: usize = 1000;

pub(crate) fn overdue(
    conn: &Connection,
    now: Millis,
    limit: usize,
) -> Result<Overdue, InternalError> {
    // Batches to come may add jobs with this purge time or a later one, never an earlier one.
    let complete_before = load::meta(conn)?.now;
    let mut purge_rows =
        conn.prepare_cached("SELECT at, seqs FROM purge WHERE at <= ?1 ORDER BY at LIMIT ?2")?;
    // A revived job may be in several `purge` rows; only the one with its current purge time counts.
    // Looking up the body sizes caches pages that the deletion needs soon after.
    let sql = format!(
        "SELECT {}, {} FROM done WHERE seq IN (SELECT value FROM json_each('[' || ?1 || ']')) \
         AND purge_at = ?2 ORDER BY seq LIMIT ?3",
        row::DONE,
        row::DONE_BYTES
    );
    let mut jobs = conn.prepare_cached(&sql)?;
    let mut overdue = Overdue::default();
    let mut rows = purge_rows.query((now.0, MAX_PURGE_ROWS as i64))?;
    while let Some(row) = rows.next()? {
        let purge_at: i64 = row.get(0)?;
        let seqs = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        let room = limit - overdue.jobs.len();
        // Read one more than fits, to know whether the row is complete.
        let limit = i64::try_from(room).unwrap_or(i64::MAX).saturating_add(1);
        let mut found = jobs.query_and_then((seqs, purge_at, limit), row::done)?;
        for job in found.by_ref().take(room) {
            overdue.jobs.push(job?);
        }
        if found.next().is_some() {
            break;
        }
        if purge_at < complete_before.0 {
            overdue.through = Some(Millis(purge_at));
        }
    }
    Ok(overdue)
}
