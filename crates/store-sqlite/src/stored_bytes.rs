//! The bytes that each tenant's jobs take up: counted with every batch, and recounted from the rows.
//!
//! `length` of a blob is read from the row's header, so no body is read to count it.

use std::collections::{BTreeMap, HashMap};

use rota_model::{Class, ClassId, TenantId};
use rusqlite::{Connection, OptionalExtension};

use crate::internal_error::InternalError;
use crate::migrate;

const SCHEMA: &str = include_str!("../migrations/0010_stored.sql");

/// Sums up the rows of all jobs. Jobs of unknown classes belong to nobody.
const RECOUNT: &str = "\
    WITH tenants AS ( \
        SELECT id, CASE WHEN json_valid(json) THEN json ->> '$.tenant' END AS tenant FROM classes \
    ), \
    parts (class, bytes) AS ( \
        SELECT class, sum(length(body)) FROM jobs GROUP BY class \
        UNION ALL SELECT class, sum(length(result)) FROM done WHERE result IS NOT NULL GROUP BY class \
        UNION ALL SELECT class, sum(length(json)) FROM errors JOIN jobs USING (seq) GROUP BY class \
        UNION ALL SELECT class, sum(length(json)) FROM replays JOIN jobs USING (seq) GROUP BY class \
    ) SELECT tenant, sum(bytes) FROM parts JOIN tenants ON id = class WHERE tenant IS NOT NULL \
    GROUP BY tenant HAVING sum(bytes) > 0";

/// Whether the database has the table `stored`, which files of format 10 from before its release lack.
pub(crate) fn exists(conn: &Connection) -> Result<bool, InternalError> {
    migrate::has_table(conn, "stored")
}

/// Creates the table and counts the rows of all jobs.
pub(crate) fn create(conn: &Connection) -> Result<(), InternalError> {
    conn.execute_batch(SCHEMA)?;
    conn.execute(&format!("INSERT INTO stored (tenant, bytes) {RECOUNT}"), [])?;
    Ok(())
}

/// Drops the table; opening the database creates it again.
pub(crate) fn forget(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("DROP TABLE IF EXISTS stored")
}

/// The counted bytes of all tenants.
pub(crate) fn counted(conn: &Connection) -> Result<BTreeMap<String, i64>, InternalError> {
    read(conn, "SELECT tenant, bytes FROM stored")
}

/// The bytes of all tenants by their rows.
pub(crate) fn recounted(conn: &Connection) -> Result<BTreeMap<String, i64>, InternalError> {
    read(conn, RECOUNT)
}

fn read(conn: &Connection, sql: &str) -> Result<BTreeMap<String, i64>, InternalError> {
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Counts what the batches write and remove. Kept between batches, because it remembers the tenants of
/// classes; a failed commit resets it.
#[derive(Default)]
pub(crate) struct ByteCounter {
    tenants: HashMap<u32, TenantId>,
    /// The changes by the current batch.
    by_class: HashMap<u32, Change>,
    by_tenant: BTreeMap<TenantId, Change>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Change {
    written: u64,
    removed: u64,
}

impl ByteCounter {
    pub fn wrote(&mut self, class: ClassId, bytes: usize) {
        if bytes > 0 {
            self.by_class.entry(class.0).or_default().written += bytes as u64;
        }
    }

    pub fn removed(&mut self, class: u32, bytes: i64) {
        if bytes > 0 {
            self.by_class.entry(class).or_default().removed += bytes as u64;
        }
    }

    /// The class is new, or replaces one of the same number that was dropped.
    pub fn class_added(&mut self, id: ClassId, class: &Class) {
        self.tenants.insert(id.0, class.tenant.clone());
    }

    /// The number of the class may be given to another from now on.
    pub fn class_dropped(&mut self, conn: &Connection, id: ClassId) -> Result<(), InternalError> {
        if let Some(change) = self.by_class.remove(&id.0) {
            self.assign(conn, id.0, change)?;
        }
        self.tenants.remove(&id.0);
        Ok(())
    }

    /// Writes the sums of the batch. Returns the bytes that it removed, by tenant.
    pub fn finish(&mut self, conn: &Connection) -> Result<Vec<(TenantId, u64)>, InternalError> {
        for (class, change) in std::mem::take(&mut self.by_class) {
            self.assign(conn, class, change)?;
        }
        let mut freed = Vec::new();
        for (tenant, Change { written, removed }) in std::mem::take(&mut self.by_tenant) {
            let difference = written as i64 - removed as i64;
            if difference != 0 {
                conn.prepare_cached(
                    "INSERT INTO stored (tenant, bytes) VALUES (?1, ?2) \
                     ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + ?2",
                )?
                .execute((&*tenant, difference))?;
            }
            if difference < 0 {
                conn.prepare_cached("DELETE FROM stored WHERE tenant = ?1 AND bytes = 0")?
                    .execute([&*tenant])?;
            }
            if removed > 0 {
                freed.push((tenant, removed));
            }
        }
        Ok(freed)
    }

    fn assign(
        &mut self,
        conn: &Connection,
        class: u32,
        change: Change,
    ) -> Result<(), InternalError> {
        let Some(tenant) = self.tenant_of(conn, class)? else { return Ok(()) };
        let sum = self.by_tenant.entry(tenant).or_default();
        sum.written += change.written;
        sum.removed += change.removed;
        Ok(())
    }

    fn tenant_of(
        &mut self,
        conn: &Connection,
        class: u32,
    ) -> Result<Option<TenantId>, InternalError> {
        if let Some(tenant) = self.tenants.get(&class) {
            return Ok(Some(tenant.clone()));
        }
        let json: Option<String> = conn
            .prepare_cached("SELECT json FROM classes WHERE id = ?1")?
            .query_row([class], |row| row.get(0))
            .optional()?;
        let Some(json) = json else { return Ok(None) };
        let read: Class = serde_json::from_str(&json).map_err(|error| {
            InternalError::Corrupt(format!("class {class} cannot be read: {error}"))
        })?;
        self.tenants.insert(class, read.tenant.clone());
        Ok(Some(read.tenant))
    }
}
