//! The two sides of a database.

use std::future::Future;

use rota_model::usage::{Usage, UsagePer};
use rota_model::{JobId, Millis, Overdue, Seq};

use crate::{
    Batch, Body, CommitError, Found, HistoryRow, ListPage, ListQuery, Loaded, Period, Record, Sink,
    StoreError,
};

/// The writing side. There is one, on a thread of its own.
pub trait Store: Send + 'static {
    type Reader: Reader;

    /// Reads all that the engine keeps in memory: one sequential pass.
    fn load(
        &mut self,
        sink: &mut dyn Sink,
    ) -> impl Future<Output = Result<Loaded, StoreError>> + Send;

    /// Makes a batch durable. `Ok` means that it survives whatever the durability mode promises.
    fn commit(&mut self, batch: &Batch) -> impl Future<Output = Result<(), CommitError>> + Send;

    /// Does a bounded piece of housekeeping when there is nothing to commit.
    fn tidy(&mut self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Gives up space that was set aside for this, because there is none left; false when there
    /// was nothing to give up.
    fn release_reserve(&mut self) -> bool {
        false
    }

    /// Sets the space aside again; false while there is not enough.
    fn restore_reserve(&mut self) -> bool {
        true
    }

    /// Another reader. Each sees what was committed before each of its calls.
    fn reader(&self) -> Result<Self::Reader, StoreError>;

    /// Leaves the store in order. Dropping it without this is a crash, which it survives too.
    fn close(self) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// The reading side. Any number of them, each on a thread of its own.
pub trait Reader: Send + 'static {
    /// Finds jobs by their ids, in the order asked for.
    fn resolve(
        &mut self,
        ids: &[JobId],
    ) -> impl Future<Output = Result<Vec<Option<Found>>, StoreError>> + Send;

    fn bodies(
        &mut self,
        seqs: &[Seq],
    ) -> impl Future<Output = Result<Vec<Option<Body>>, StoreError>> + Send;

    fn records(
        &mut self,
        seqs: &[Seq],
    ) -> impl Future<Output = Result<Vec<Option<Record>>, StoreError>> + Send;

    fn list(
        &mut self,
        query: &ListQuery,
    ) -> impl Future<Output = Result<ListPage, StoreError>> + Send;

    /// At most `limit` finished jobs whose retention has passed.
    fn overdue(
        &mut self,
        now: Millis,
        limit: usize,
    ) -> impl Future<Output = Result<Overdue, StoreError>> + Send;

    /// Statistics of one queue from `since` (included) to `until` (not included), oldest first.
    fn history(
        &mut self,
        period: Period,
        queue: &str,
        since: Millis,
        until: Millis,
    ) -> impl Future<Output = Result<Vec<HistoryRow>, StoreError>> + Send;

    /// What a tenant used in periods that begin from `since` (included) to `until` (not included),
    /// oldest first.
    fn usage(
        &mut self,
        per: UsagePer,
        tenant: &str,
        since: Millis,
        until: Millis,
    ) -> impl Future<Output = Result<Vec<(Millis, Usage)>, StoreError>> + Send;
}
