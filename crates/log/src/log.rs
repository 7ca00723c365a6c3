//! The [`Log`] trait and what it stores.

use std::future::Future;

use bytes::Bytes;

use crate::{AppendError, LogError};

/// One record: a whole batch. The payload is opaque to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The number of the record: one more than that of the record before it.
    pub index: u64,
    /// Which writer's history the record belongs to. It never goes back.
    pub term: u64,
    /// When the batch was made, in milliseconds since the epoch.
    pub time: i64,
    pub payload: Bytes,
}

/// The newest record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    pub index: u64,
    pub term: u64,
    /// The checksum of that record, which the next record names; 0 if no record was ever appended.
    pub checksum: u64,
}

/// Where a log that has no records yet begins, and what its caller already has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Base {
    /// The index that the caller has reached without the log. The first record follows it.
    pub index: u64,
    /// The term of the record at that index.
    pub term: u64,
    /// The checksum of that record, which the first record names; 0 if it is not known.
    pub checksum: u64,
}

/// A sequence of records with one writer. There is one per server, on its own thread, so its methods
/// may block.
pub trait Log: Send + 'static {
    /// The newest record, or the base of a log without records.
    fn tip(&self) -> Tip;

    /// The oldest index that can be read; `tip().index + 1` if there is none.
    fn first(&self) -> u64;

    /// Appends one record. Its index must follow the tip, and its term must not be below the tip's.
    /// After `Ok`, it is as durable as the log promises.
    fn append(&mut self, entry: &Entry) -> impl Future<Output = Result<(), AppendError>> + Send;

    /// Proves that the last record was acknowledged, so that it cannot be mistaken for a torn one.
    /// Called when nothing follows for a while; does nothing if it was already done.
    fn settle(&mut self) -> impl Future<Output = Result<(), AppendError>> + Send;

    /// Reads records from `from` on, in order: up to `max_bytes` of payloads, but at least one record
    /// if there is one. `from` may be one past the tip. Below `first()` it is an error.
    fn read(
        &mut self,
        from: u64,
        max_bytes: usize,
    ) -> impl Future<Output = Result<Vec<Entry>, LogError>> + Send;

    /// Records below this index are no longer needed. The log keeps those that it cannot give up
    /// without newer ones, and always the newest.
    fn truncate(&mut self, below: u64) -> impl Future<Output = Result<(), LogError>> + Send;

    /// Gives back space that is only prepared for later records, because the disk is full.
    fn release_space(&mut self) -> impl Future<Output = Result<(), LogError>> + Send {
        async { Ok(()) }
    }

    /// Settles and shuts down. Dropping the log instead is equivalent to a crash: what was
    /// acknowledged survives.
    fn close(self) -> impl Future<Output = Result<(), LogError>> + Send;
}
