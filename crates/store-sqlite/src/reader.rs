use rota_model::usage::{Usage, UsagePer};
use rota_model::{JobId, Millis, Overdue, Seq};
use rota_store::{
    Body, Found, HistoryRow, ListPage, ListQuery, Period, Reader, Record, StoreError,
};
use rusqlite::Connection;

use crate::fault::Fault;
use crate::{history, list, overdue, read, usage};

/// The reading side of the embedded store. Each call sees one consistent state, and everything
/// that was committed before it.
pub struct SqliteReader {
    conn: Connection,
}

impl SqliteReader {
    pub(crate) fn new(conn: Connection) -> Self {
        Self { conn }
    }

    fn look<T>(
        &mut self,
        look: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let tx = self.conn.transaction().map_err(Fault::from)?;
        let seen = look(&tx)?;
        tx.commit().map_err(Fault::from)?;
        Ok(seen)
    }
}

impl Reader for SqliteReader {
    async fn resolve(&mut self, ids: &[JobId]) -> Result<Vec<Option<Found>>, StoreError> {
        self.look(|conn| read::resolve(conn, ids))
    }

    async fn bodies(&mut self, seqs: &[Seq]) -> Result<Vec<Option<Body>>, StoreError> {
        self.look(|conn| read::bodies(conn, seqs))
    }

    async fn records(&mut self, seqs: &[Seq]) -> Result<Vec<Option<Record>>, StoreError> {
        self.look(|conn| read::records(conn, seqs))
    }

    async fn list(&mut self, query: &ListQuery) -> Result<ListPage, StoreError> {
        self.look(|conn| list::list(conn, query))
    }

    async fn overdue(&mut self, now: Millis, limit: usize) -> Result<Overdue, StoreError> {
        self.look(|conn| overdue::overdue(conn, now, limit))
    }

    async fn history(
        &mut self,
        period: Period,
        queue: &str,
        since: Millis,
        until: Millis,
    ) -> Result<Vec<HistoryRow>, StoreError> {
        self.look(|conn| history::range(conn, period, queue, since, until))
    }

    async fn usage(
        &mut self,
        per: UsagePer,
        tenant: &str,
        since: Millis,
        until: Millis,
    ) -> Result<Vec<(Millis, Usage)>, StoreError> {
        self.look(|conn| usage::range(conn, per, tenant, since, until))
    }
}
