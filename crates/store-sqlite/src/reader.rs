//! [`SqliteReader`], the read-only connection of the embedded store.

use rota_model::audit::AuditStub;
use rota_model::usage::{Usage, UsagePer};
use rota_model::{DeadShardId, DueReplay, JobId, Millis, Overdue, Seq};
use rota_store::{
    AuditPage, AuditQuery, Body, Found, HistoryRow, ListPage, ListQuery, Period, Reader, Record,
    StoreError,
};
use rusqlite::Connection;

use crate::internal_error::InternalError;
use crate::{audit, dead_letter, history, list, lookup, overdue, usage};

/// A read-only connection to the embedded store. Each call is one read transaction, which sees every
/// batch committed before it.
pub struct SqliteReader {
    conn: Connection,
}

impl SqliteReader {
    pub(crate) fn new(conn: Connection) -> Self {
        Self { conn }
    }

    fn in_transaction<T>(
        &mut self,
        read: impl FnOnce(&Connection) -> Result<T, InternalError>,
    ) -> Result<T, StoreError> {
        let tx = self.conn.transaction().map_err(InternalError::from)?;
        let result = read(&tx)?;
        tx.commit().map_err(InternalError::from)?;
        Ok(result)
    }
}

impl Reader for SqliteReader {
    async fn resolve(&mut self, ids: &[JobId]) -> Result<Vec<Option<Found>>, StoreError> {
        self.in_transaction(|conn| lookup::resolve(conn, ids))
    }

    async fn bodies(
        &mut self,
        seqs: &[Seq],
        max_bytes: usize,
    ) -> Result<Vec<Option<Body>>, StoreError> {
        self.in_transaction(|conn| lookup::bodies(conn, seqs, max_bytes))
    }

    async fn records(
        &mut self,
        seqs: &[Seq],
        max_bytes: usize,
    ) -> Result<Vec<Option<Record>>, StoreError> {
        self.in_transaction(|conn| lookup::records(conn, seqs, max_bytes))
    }

    async fn list(&mut self, query: &ListQuery) -> Result<ListPage, StoreError> {
        self.in_transaction(|conn| list::list(conn, query))
    }

    async fn overdue(&mut self, now: Millis, limit: usize) -> Result<Overdue, StoreError> {
        self.in_transaction(|conn| overdue::overdue(conn, now, limit))
    }

    async fn oldest_dead(
        &mut self,
        shard: DeadShardId,
        limit: usize,
    ) -> Result<Vec<(Seq, Millis)>, StoreError> {
        self.in_transaction(|conn| dead_letter::oldest(conn, shard, limit))
    }

    async fn dead_span(
        &mut self,
        shards: Option<&[DeadShardId]>,
    ) -> Result<Option<(Millis, Millis)>, StoreError> {
        self.in_transaction(|conn| dead_letter::span(conn, shards))
    }

    async fn due_replays(
        &mut self,
        now: Millis,
        limit: usize,
    ) -> Result<Vec<DueReplay>, StoreError> {
        self.in_transaction(|conn| dead_letter::due_replays(conn, now, limit))
    }

    async fn history(
        &mut self,
        period: Period,
        queue: &str,
        since: Millis,
        until: Millis,
    ) -> Result<Vec<HistoryRow>, StoreError> {
        self.in_transaction(|conn| history::range(conn, period, queue, since, until))
    }

    async fn usage(
        &mut self,
        per: UsagePer,
        tenant: &str,
        since: Millis,
        until: Millis,
    ) -> Result<Vec<(Millis, Usage)>, StoreError> {
        self.in_transaction(|conn| usage::range(conn, per, tenant, since, until))
    }

    async fn audit(&mut self, query: &AuditQuery) -> Result<AuditPage, StoreError> {
        self.in_transaction(|conn| audit::list(conn, query))
    }

    async fn oldest_audit(&mut self, limit: usize) -> Result<Vec<AuditStub>, StoreError> {
        self.in_transaction(|conn| audit::oldest(conn, limit))
    }
}
