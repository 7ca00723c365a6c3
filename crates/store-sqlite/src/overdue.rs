//! Which finished jobs have been kept long enough.

use rota_model::{Millis, Overdue};
use rusqlite::Connection;

use crate::fault::Fault;
use crate::{load, row};

/// More moments than this are not looked at in one go, even when their jobs are gone already.
const MOMENTS: usize = 1000;

pub(crate) fn overdue(conn: &Connection, now: Millis, limit: usize) -> Result<Overdue, Fault> {
    // A batch that is on its way may add jobs to this moment and later ones, not to earlier ones.
    let settled_before = load::meta(conn)?.now;
    let mut moments =
        conn.prepare_cached("SELECT at, seqs FROM purge WHERE at <= ?1 ORDER BY at LIMIT ?2")?;
    // A job that lived again may be listed at several moments and is overdue at one: its own.
    // The lookup of the sizes brings in pages that the deletion needs soon after.
    let sql = format!(
        "SELECT {}, {} FROM done WHERE seq IN (SELECT value FROM json_each('[' || ?1 || ']')) \
         AND purge_at = ?2 ORDER BY seq LIMIT ?3",
        row::DONE,
        row::DONE_BYTES
    );
    let mut jobs = conn.prepare_cached(&sql)?;
    let mut overdue = Overdue::default();
    let mut rows = moments.query((now.0, MOMENTS as i64))?;
    while let Some(row) = rows.next()? {
        let at: i64 = row.get(0)?;
        let seqs = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        let room = limit - overdue.jobs.len();
        // One more, to know whether these are all.
        let ask = i64::try_from(room).unwrap_or(i64::MAX).saturating_add(1);
        let mut found = jobs.query_and_then((seqs, at, ask), row::done)?;
        for job in found.by_ref().take(room) {
            overdue.jobs.push(job?);
        }
        if found.next().is_some() {
            break;
        }
        if at < settled_before.0 {
            overdue.through = Some(Millis(at));
        }
    }
    Ok(overdue)
}
