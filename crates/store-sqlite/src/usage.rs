//! Reading the usage of one tenant.

use rota_model::Millis;
use rota_model::usage::{Usage, UsagePer};
use rusqlite::Connection;

use crate::internal_error::InternalError;

pub(crate) fn range(
    conn: &Connection,
    per: UsagePer,
    tenant: &str,
    since: Millis,
    until: Millis,
) -> Result<Vec<(Millis, Usage)>, InternalError> {
    conn.prepare_cached(
        "SELECT at, enqueued, bytes, started, completed, failed, run_ms, discarded FROM usage \
         WHERE tenant = ?1 AND per = ?2 AND at >= ?3 AND at < ?4 ORDER BY at",
    )?
    .query_and_then((tenant, per.code(), since.0, until.0), |row| {
        let count = |column| row.get::<_, i64>(column).map(|count| count as u64);
        let usage = Usage {
            enqueued: count(1)?,
            bytes: count(2)?,
            started: row.get(3)?,
            completed: count(4)?,
            failed: count(5)?,
            run_ms: count(6)?,
            discarded: count(7)?,
        };
        Ok((Millis(row.get(0)?), usage))
    })?
    .collect()
}
