//! Mutations of everything that is not a job: classes, named rows, statistics, usage, the journal and the
//! audit log.

use bytes::Bytes;
use rota_model::audit::AuditRow;
use rota_model::usage::{Usage, UsagePer, UsageRow};
use rota_model::{Class, ClassId, Millis};
use rota_store::{Counts, HistoryRow, Period, RowKind};

use super::Applier;
use crate::internal_error::InternalError;

impl Applier<'_> {
    pub(super) fn put_counts(&mut self, id: ClassId, counts: &Counts) -> Result<(), InternalError> {
        let [completed, cancelled, dead_letter, discarded, expired] = counts.0.map(|n| n as i64);
        self.put_counts.execute((id.0, completed, cancelled, dead_letter, discarded, expired))?;
        Ok(())
    }

    pub(super) fn put_class(&mut self, id: ClassId, class: &Class) -> Result<(), InternalError> {
        self.bytes.class_added(id, class);
        let json = serde_json::to_string(class).map_err(|error| {
            InternalError::Rejected(format!("class {} cannot be written: {error}", id.0))
        })?;
        self.run(
            "INSERT INTO classes (id, json) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET json = ?2",
            (id.0, json),
        ).map(drop)
    }

    pub(super) fn drop_class(&mut self, id: ClassId) -> Result<(), InternalError> {
        self.bytes.class_dropped(self.conn, id)?;
        self.run("DELETE FROM classes WHERE id = ?1", [id.0])?;
        self.run("DELETE FROM counts WHERE class = ?1", [id.0]).map(drop)
    }

    pub(super) fn put(&self, kind: RowKind, name: &str, json: &Bytes) -> Result<(), InternalError> {
        self.run(
            "INSERT INTO named (kind, name, json) VALUES (?1, ?2, ?3) \
             ON CONFLICT (kind, name) DO UPDATE SET json = ?3",
            (kind.code(), name, &json[..]),
        )
        .map(drop)
    }

    pub(super) fn remove(&self, kind: RowKind, name: &str) -> Result<(), InternalError> {
        self.run("DELETE FROM named WHERE kind = ?1 AND name = ?2", (kind.code(), name)).map(drop)
    }

    pub(super) fn put_history(&self, row: &HistoryRow) -> Result<(), InternalError> {
        self.run(
            "INSERT INTO history (period, queue, at, data) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (period, queue, at) DO UPDATE SET data = ?4",
            (row.period.code(), &*row.queue, row.at.0, &row.data[..]),
        )
        .map(drop)
    }

    pub(super) fn forget_history(
        &self,
        period: Period,
        before: Millis,
        most: u32,
    ) -> Result<(), InternalError> {
        self.run(
            "DELETE FROM history WHERE (period, queue, at) IN (SELECT period, queue, at FROM history \
             INDEXED BY history_age WHERE period = ?1 AND at < ?2 ORDER BY at LIMIT ?3)",
            (period.code(), before.0, most),
        )
        .map(drop)
    }

    pub(super) fn add_usage(&self, row: &UsageRow) -> Result<(), InternalError> {
        let Usage { enqueued, bytes, started, completed, failed, run_ms, discarded } = row.usage;
        let counts = [enqueued, bytes, completed, failed, run_ms, discarded];
        let [enqueued, bytes, completed, failed, run_ms, discarded] =
            counts.map(|count| count as i64);
        for per in UsagePer::ALL {
            let start = per.start_of(row.at).0;
            self.run(
                "INSERT INTO usage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
                 ON CONFLICT (tenant, per, at) DO UPDATE SET enqueued = enqueued + ?4, \
                 bytes = bytes + ?5, started = started + ?6, completed = completed + ?7, \
                 failed = failed + ?8, run_ms = run_ms + ?9, discarded = discarded + ?10",
                rusqlite::params![
                    &*row.tenant,
                    per.code(),
                    start,
                    enqueued,
                    bytes,
                    started,
                    completed,
                    failed,
                    run_ms,
                    discarded
                ],
            )?;
        }
        Ok(())
    }

    pub(super) fn forget_usage(
        &self,
        per: UsagePer,
        before: Millis,
        most: u32,
    ) -> Result<(), InternalError> {
        self.run(
            "DELETE FROM usage WHERE (tenant, per, at) IN (SELECT tenant, per, at FROM usage \
             INDEXED BY usage_age WHERE per = ?1 AND at < ?2 ORDER BY at LIMIT ?3)",
            (per.code(), before.0, most),
        )
        .map(drop)
    }

    pub(super) fn forget_tenant_usage(&self, tenant: &str) -> Result<(), InternalError> {
        self.run("DELETE FROM usage WHERE tenant = ?1", [tenant]).map(drop)
    }

    pub(super) fn forget_history_of(&self, queue: &str) -> Result<(), InternalError> {
        for period in [Period::Minute, Period::Hour] {
            let key = (period.code(), queue);
            self.run("DELETE FROM history WHERE period = ?1 AND queue = ?2", key)?;
        }
        Ok(())
    }

    /// Fails on a second entry of the same batch, because the number is the primary key.
    pub(super) fn write_journal(&self, data: &Bytes) -> Result<(), InternalError> {
        self.run(
            "INSERT INTO journal (number, data) VALUES (?1, ?2)",
            (self.batch_number as i64, &data[..]),
        )
        .map(drop)
    }

    /// Fails on a number that exists.
    pub(super) fn write_audit_entry(&self, row: &AuditRow) -> Result<(), InternalError> {
        self.run(
            "INSERT INTO audit (number, at, tenant, json, hash) VALUES (?1, ?2, ?3, ?4, ?5)",
            (
                row.number as i64,
                row.at.0,
                row.tenant.as_deref(),
                &row.json[..],
                &row.hash.as_bytes()[..],
            ),
        )
        .map(drop)
    }

    pub(super) fn trim_audit_log(&self, through: u64) -> Result<(), InternalError> {
        let through = i64::try_from(through).unwrap_or(i64::MAX);
        self.run("DELETE FROM audit WHERE number <= ?1", [through]).map(drop)
    }

    pub(super) fn trim_journal(&self, before: u64) -> Result<(), InternalError> {
        let before = i64::try_from(before).unwrap_or(i64::MAX);
        self.run("DELETE FROM journal WHERE number < ?1", [before]).map(drop)
    }
}
