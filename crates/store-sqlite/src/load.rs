//! Loading the stored state at startup, in one sequential pass over each table.

use std::path::Path;
use std::sync::Arc;

use rota_model::{ClassId, IdKey, Millis, TenantId};
use rota_store::{Counts, HistoryRow, Loaded, Period, RowKind, Sink};
use rusqlite::{Connection, Row};

use crate::internal_error::InternalError;
use crate::{load_live, migrate, row, stored_bytes};

pub(crate) fn load(
    conn: &mut Connection,
    path: &Path,
    sink: &mut dyn Sink,
) -> Result<Loaded, InternalError> {
    let tx = conn.transaction()?;
    let loaded = meta(&tx)?;
    classes(&tx, sink)?;
    stored(&tx, sink)?;
    named(&tx, sink)?;
    load_live::live(&tx, path, sink)?;
    recent_history(&tx, loaded.now, sink)?;
    journal(&tx, sink)?;
    tx.commit()?;
    Ok(loaded)
}

pub(crate) fn meta(conn: &Connection) -> Result<Loaded, InternalError> {
    read_meta(conn, "SELECT number, now, next_seq, id_key, event_count FROM meta")
}

/// Reads `meta` from a file of an older format, such as a backup that is being checked.
pub(crate) fn meta_of(conn: &Connection, format: u32) -> Result<Loaded, InternalError> {
    match format {
        migrate::LOG.. => meta(conn),
        migrate::SEALED_IDS.. => {
            read_meta(conn, "SELECT number, now, next_seq, id_key, 0 FROM meta")
        }
        _ => read_meta(conn, "SELECT number, now, next_seq, 0, 0 FROM meta"),
    }
}

fn read_meta(conn: &Connection, sql: &str) -> Result<Loaded, InternalError> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let row =
        rows.next()?.ok_or_else(|| InternalError::Corrupt("the table meta is empty".into()))?;
    Ok(Loaded {
        number: row.get::<_, i64>(0)? as u64,
        now: Millis(row.get(1)?),
        next_seq: row::seq(row.get(2)?),
        id_key: IdKey(row.get::<_, i64>(3)? as u64),
        event_count: row.get::<_, i64>(4)? as u64,
    })
}

fn classes(conn: &Connection, sink: &mut dyn Sink) -> Result<(), InternalError> {
    let mut statement = conn.prepare_cached(
        "SELECT id, json, completed, cancelled, dead_letter, discarded, expired \
         FROM classes LEFT JOIN counts ON class = id ORDER BY id",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = ClassId(row.get(0)?);
        let json = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        let class = serde_json::from_str(json).map_err(|error| {
            InternalError::Corrupt(format!("class {} cannot be read: {error}", id.0))
        })?;
        sink.class(id, class, counts(row)?);
    }
    Ok(())
}

fn counts(row: &Row<'_>) -> Result<Counts, InternalError> {
    let mut counts = Counts::default();
    for (i, count) in counts.0.iter_mut().enumerate() {
        *count = row.get::<_, Option<i64>>(2 + i)?.unwrap_or(0) as u64;
    }
    Ok(counts)
}

fn stored(conn: &Connection, sink: &mut dyn Sink) -> Result<(), InternalError> {
    for (tenant, bytes) in stored_bytes::counted(conn)? {
        let tenant = TenantId::parse(&tenant).map_err(|error| {
            InternalError::Corrupt(format!("the tenant '{tenant}' in the table stored {error}"))
        })?;
        // Only damage makes it negative; `rota doctor` finds that.
        sink.stored(tenant, bytes.max(0) as u64);
    }
    Ok(())
}

fn named(conn: &Connection, sink: &mut dyn Sink) -> Result<(), InternalError> {
    let mut statement = conn.prepare_cached("SELECT kind, name, json FROM named")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let code = row.get(0)?;
        let kind = RowKind::from_code(code)
            .ok_or_else(|| InternalError::Corrupt(format!("a named thing has the kind {code}")))?;
        let name: Arc<str> = row.get(1)?;
        sink.named(kind, name, row::bytes(row, 2)?);
    }
    Ok(())
}

fn recent_history(
    conn: &Connection,
    now: Millis,
    sink: &mut dyn Sink,
) -> Result<(), InternalError> {
    let mut statement =
        conn.prepare_cached("SELECT queue, at, data FROM history WHERE period = ?1 AND at >= ?2")?;
    let mut rows = statement.query((Period::Minute.code(), Period::first_read(now).0))?;
    while let Some(row) = rows.next()? {
        sink.history(HistoryRow {
            period: Period::Minute,
            at: Millis(row.get(1)?),
            queue: row.get(0)?,
            data: row::bytes(row, 2)?,
        });
    }
    Ok(())
}

fn journal(conn: &Connection, sink: &mut dyn Sink) -> Result<(), InternalError> {
    let mut statement = conn.prepare_cached("SELECT number, data FROM journal ORDER BY number")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        sink.journal(row.get::<_, i64>(0)? as u64, row::bytes(row, 1)?);
    }
    Ok(())
}
