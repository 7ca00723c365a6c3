//! The file's format, one step at a time.

use rusqlite::{Connection, TransactionBehavior};

use crate::fault::Fault;
use crate::zones;

/// "Rota", so that `file` and we ourselves can tell the file from any other SQLite database.
pub(crate) const APPLICATION_ID: u32 = 0x526f_7461;

/// Step n leads from format n - 1 to format n; a published step is never changed.
const STEPS: [&str; 8] = [
    include_str!("../migrations/0001_base.sql"),
    include_str!("../migrations/0002_history.sql"),
    include_str!("../migrations/0003_lists.sql"),
    include_str!("../migrations/0004_limits.sql"),
    include_str!("../migrations/0005_zones.sql"),
    include_str!("../migrations/0006_pools.sql"),
    include_str!("../migrations/0007_cron_runs.sql"),
    include_str!("../migrations/0008_usage.sql"),
];

pub(crate) const FORMAT: u32 = STEPS.len() as u32;

/// Since this format, ids hold numbers and retention has its list.
pub(crate) const SEALED_IDS: u32 = 3;

/// Since this format, living jobs tell their size and there is a journal.
pub(crate) const LIMITS: u32 = 4;

/// Since this format, zones tell where the jobs of a class are.
pub(crate) const ZONES: u32 = 5;

/// Since this format, active jobs name the pool that they were fetched for.
pub(crate) const POOLS: u32 = 6;

/// Since this format, what tenants used is kept.
pub(crate) const USAGE: u32 = 8;

pub(crate) fn is_empty(conn: &Connection) -> Result<bool, Fault> {
    Ok(!conn.prepare("SELECT 1 FROM sqlite_schema")?.exists([])?)
}

pub(crate) fn application(conn: &Connection) -> Result<u32, Fault> {
    Ok(conn.pragma_query_value(None, "application_id", |row| row.get::<_, i32>(0))? as u32)
}

pub(crate) fn format(conn: &Connection) -> Result<u32, Fault> {
    Ok(conn.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Brings the file from the given format to ours: all steps, or none.
pub(crate) fn migrate(conn: &mut Connection, from: u32) -> Result<(), Fault> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for step in STEPS.iter().skip(from as usize) {
        tx.execute_batch(step)?;
    }
    if from < ZONES {
        zones::build(&tx)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", FORMAT)?;
    Ok(tx.commit()?)
}

/// A cheap look for what every later statement relies on.
pub(crate) fn check_schema(conn: &Connection) -> Result<(), Fault> {
    const TABLES: [&str; 13] = [
        "meta", "jobs", "live", "done", "purge", "errors", "classes", "counts", "named", "history",
        "journal", "zones", "usage",
    ];
    let mut statement =
        conn.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?;
    for table in TABLES {
        if !statement.exists([table])? {
            return Err(Fault::Damaged(format!("the table {table} is missing")));
        }
    }
    Ok(())
}
