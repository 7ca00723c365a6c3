//! Checking that the dead letter lists and counts exactly the jobs that ended in it.

use std::collections::BTreeMap;

use rota_store::RowKind;

use super::damage::{Damages, Rule};
use crate::internal_error::InternalError;
use crate::{Snapshot, migrate, row};

pub(super) fn check(snapshot: &Snapshot, damages: &mut Damages) -> Result<(), InternalError> {
    if snapshot.format() < migrate::DEAD_LETTER {
        return Ok(());
    }
    let conn = snapshot.conn();
    let mut wrong = conn.prepare(
        "SELECT seq FROM dead LEFT JOIN done USING (seq) \
         WHERE done.ending IS NOT 2 OR done.class <> dead.class OR done.at <> dead.at \
         UNION ALL SELECT seq FROM done LEFT JOIN dead USING (seq) \
         WHERE done.ending = 2 AND dead.seq IS NULL",
    )?;
    let mut rows = wrong.query([])?;
    while let Some(found) = rows.next()? {
        damages.found(Rule::DeadLetterMismatch, row::seq(found.get(0)?));
    }
    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
    let mut found = conn.prepare(
        "SELECT CASE other WHEN 0 THEN shard || ':' || error ELSE CAST(shard AS TEXT) END, count(*) \
         FROM dead GROUP BY 1",
    )?;
    let mut rows = found.query([])?;
    while let Some(row) = rows.next()? {
        counts.insert(row.get(0)?, row.get(1)?);
    }
    let mut counted = conn
        .prepare("SELECT name, CAST(CAST(json AS TEXT) AS INTEGER) FROM named WHERE kind = ?1")?;
    let mut rows = counted.query([RowKind::DeadErrors.code()])?;
    while let Some(row) = rows.next()? {
        let (name, count): (String, i64) = (row.get(0)?, row.get(1)?);
        if counts.remove(&name) != Some(count) {
            damages.found(Rule::DeadLetterMismatch, format!("the counter {name}"));
        }
    }
    for name in counts.keys() {
        damages.found(Rule::DeadLetterMismatch, format!("the counter {name}"));
    }
    Ok(())
}
