//! The [`View`] trait, which applies batches, and the [`Reader`] trait, which reads.

use std::future::Future;

use rota_model::audit::AuditStub;
use rota_model::usage::{Usage, UsagePer};
use rota_model::{DeadShardId, DueReplay, JobId, Millis, Overdue, Seq};

use crate::{
    Applied, ApplyError, AuditPage, AuditQuery, Batch, Body, Found, HistoryRow, ListPage,
    ListQuery, Loaded, Period, Record, Sink, StoreError,
};

/// A database that follows the log. There is one per server, on its own thread.
pub trait View: Send + 'static {
    type Reader: Reader;

    /// Reads everything that the engine keeps in memory, in one sequential pass.
    fn load(
        &mut self,
        sink: &mut dyn Sink,
    ) -> impl Future<Output = Result<Loaded, StoreError>> + Send;

    /// The number of the newest batch that was applied.
    fn applied(&mut self) -> impl Future<Output = Result<u64, StoreError>> + Send;

    /// Applies consecutive batches, all or none of them. After `Ok`, readers see them; a power cut may
    /// still undo them, but only from some batch on and never one that [`durable`](Self::durable) has named.
    fn apply(
        &mut self,
        batches: &[Batch],
    ) -> impl Future<Output = Result<Applied, ApplyError>> + Send;

    /// The number of the newest batch that survives a power cut. The log must keep all later ones.
    fn durable(&self) -> u64;

    /// Does a bounded amount of maintenance. Called when there is nothing to apply.
    fn tidy(&mut self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Frees the disk space reserved for emergencies when the disk is full. Returns false if there was no
    /// reserve.
    fn release_reserve(&mut self) -> bool {
        false
    }

    /// Allocates the reserve again. Returns false while there is not enough free space.
    fn restore_reserve(&mut self) -> bool {
        true
    }

    /// Opens another reader. Every call on it sees all batches applied before the call.
    fn reader(&self) -> Result<Self::Reader, StoreError>;

    /// Shuts the view down cleanly: everything that was applied is durable. Dropping it instead is
    /// equivalent to a crash, after which the log is applied again from [`durable`](Self::durable) on.
    fn close(self) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// A read-only connection. There may be any number, each on its own thread.
pub trait Reader: Send + 'static {
    /// Looks up jobs by id. The result has one element per id, in the same order.
    fn resolve(
        &mut self,
        ids: &[JobId],
    ) -> impl Future<Output = Result<Vec<Option<Found>>, StoreError>> + Send;

    /// Reads job bodies. The result has one element per sequence number, in the same order. It ends
    /// before `max_bytes` are exceeded, but has at least one element if there is a number.
    fn bodies(
        &mut self,
        seqs: &[Seq],
        max_bytes: usize,
    ) -> impl Future<Output = Result<Vec<Option<Body>>, StoreError>> + Send;

    /// Reads complete jobs. The result has one element per sequence number, in the same order. It
    /// ends before `max_bytes` of bodies, results and errors are exceeded, but has at least one
    /// element if there is a number.
    fn records(
        &mut self,
        seqs: &[Seq],
        max_bytes: usize,
    ) -> impl Future<Output = Result<Vec<Option<Record>>, StoreError>> + Send;

    /// Reads one page of a list.
    fn list(
        &mut self,
        query: &ListQuery,
    ) -> impl Future<Output = Result<ListPage, StoreError>> + Send;

    /// Returns up to `limit` finished jobs whose retention time has passed.
    fn overdue(
        &mut self,
        now: Millis,
        limit: usize,
    ) -> impl Future<Output = Result<Overdue, StoreError>> + Send;

    /// Returns the oldest jobs of one tenant's dead letter in one queue, and when they were discarded.
    fn oldest_dead(
        &mut self,
        shard: DeadShardId,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(Seq, Millis)>, StoreError>> + Send;

    /// Returns when the first and the last job of the dead letter were discarded, in these shards or
    /// (`None`) in all.
    fn dead_span(
        &mut self,
        shards: Option<&[DeadShardId]>,
    ) -> impl Future<Output = Result<Option<(Millis, Millis)>, StoreError>> + Send;

    /// Returns up to `limit` jobs of the dead letter whose replay is due, the longest due first.
    fn due_replays(
        &mut self,
        now: Millis,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<DueReplay>, StoreError>> + Send;

    /// Reads the statistics of one queue for intervals that begin in `since..until`, oldest first.
    fn history(
        &mut self,
        period: Period,
        queue: &str,
        since: Millis,
        until: Millis,
    ) -> impl Future<Output = Result<Vec<HistoryRow>, StoreError>> + Send;

    /// Reads the usage of one tenant for periods that begin in `since..until`, oldest first.
    fn usage(
        &mut self,
        per: UsagePer,
        tenant: &str,
        since: Millis,
        until: Millis,
    ) -> impl Future<Output = Result<Vec<(Millis, Usage)>, StoreError>> + Send;

    /// Reads one page of the audit log.
    fn audit(
        &mut self,
        query: &AuditQuery,
    ) -> impl Future<Output = Result<AuditPage, StoreError>> + Send;

    /// Returns the oldest entries of the audit log, up to `limit`.
    fn oldest_audit(
        &mut self,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<AuditStub>, StoreError>> + Send;
}
