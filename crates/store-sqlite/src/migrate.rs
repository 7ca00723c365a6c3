//! Creating the schema, and migrating older formats step by step.

use rusqlite::{Connection, TransactionBehavior};

use crate::internal_error::InternalError;
use crate::{stored_bytes, zones};

/// "Rota" in ASCII. Identifies the file as a Rota database, also to the `file` command.
pub(crate) const APPLICATION_ID: u32 = 0x526f_7461;

/// Step n migrates format n - 1 to format n. Released steps are never changed.
const STEPS: [&str; 12] = [
    include_str!("../migrations/0001_base.sql"),
    include_str!("../migrations/0002_history.sql"),
    include_str!("../migrations/0003_lists.sql"),
    include_str!("../migrations/0004_limits.sql"),
    include_str!("../migrations/0005_zones.sql"),
    include_str!("../migrations/0006_pools.sql"),
    include_str!("../migrations/0007_cron_runs.sql"),
    include_str!("../migrations/0008_usage.sql"),
    include_str!("../migrations/0009_dead_letter.sql"),
    include_str!("../migrations/0010_identity.sql"),
    include_str!("../migrations/0011_log.sql"),
    include_str!("../migrations/0012_checksums.sql"),
];

pub(crate) const FORMAT: u32 = STEPS.len() as u32;

/// The first format whose job ids contain sealed sequence numbers, and with the table `purge`.
pub(crate) const SEALED_IDS: u32 = 3;

/// The first format with the size of the body in `live`, and with the table `journal`.
pub(crate) const LIMITS: u32 = 4;

/// The first format with the table `zones`.
pub(crate) const ZONES: u32 = 5;

/// The first format with the pool of active jobs in `live`.
pub(crate) const POOLS: u32 = 6;

/// The first format with the table `usage`.
pub(crate) const USAGE: u32 = 8;

/// The first format with the tables `dead` and `replays`.
pub(crate) const DEAD_LETTER: u32 = 9;

/// The first format with the table `audit`.
pub(crate) const IDENTITY: u32 = 10;

/// The first format that follows a log.
pub(crate) const LOG: u32 = 11;

pub(crate) fn is_empty(conn: &Connection) -> Result<bool, InternalError> {
    Ok(!conn.prepare("SELECT 1 FROM sqlite_schema")?.exists([])?)
}

pub(crate) fn application(conn: &Connection) -> Result<u32, InternalError> {
    Ok(conn.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0))? as u32)
}

pub(crate) fn format(conn: &Connection) -> Result<u32, InternalError> {
    Ok(conn.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Migrates the file from format `from` to the current one, in one transaction.
pub(crate) fn migrate(conn: &mut Connection, from: u32) -> Result<(), InternalError> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for step in STEPS.iter().skip(from as usize) {
        tx.execute_batch(step)?;
    }
    if from < ZONES {
        zones::build(&tx)?;
    }
    if !stored_bytes::exists(&tx)? {
        stored_bytes::create(&tx)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", FORMAT)?;
    Ok(tx.commit()?)
}

/// Checks that all tables exist.
pub(crate) fn check_schema(conn: &Connection) -> Result<(), InternalError> {
    const TABLES: [&str; 17] = [
        "meta", "jobs", "live", "done", "purge", "errors", "classes", "counts", "named", "history",
        "journal", "zones", "usage", "dead", "replays", "audit", "stored",
    ];
    for table in TABLES {
        if !has_table(conn, table)? {
            return Err(InternalError::Corrupt(format!("the table {table} is missing")));
        }
    }
    Ok(())
}

pub(crate) fn has_table(conn: &Connection, table: &str) -> Result<bool, InternalError> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    Ok(conn.prepare(sql)?.exists([table])?)
}
