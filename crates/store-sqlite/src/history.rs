//! Reading the statistics of one queue.

use std::sync::Arc;

use rota_model::Millis;
use rota_store::{HistoryRow, Period};
use rusqlite::Connection;

use crate::internal_error::InternalError;
use crate::row;

pub(crate) fn range(
    conn: &Connection,
    period: Period,
    queue: &str,
    since: Millis,
    until: Millis,
) -> Result<Vec<HistoryRow>, InternalError> {
    let name: Arc<str> = queue.into();
    conn.prepare_cached(
        "SELECT at, data FROM history \
         WHERE period = ?1 AND queue = ?2 AND at >= ?3 AND at < ?4 ORDER BY at",
    )?
    .query_and_then((period.code(), queue, since.0, until.0), |row| {
        Ok(HistoryRow {
            period,
            at: Millis(row.get(0)?),
            queue: name.clone(),
            data: row::bytes(row, 1)?,
        })
    })?
    .collect()
}
