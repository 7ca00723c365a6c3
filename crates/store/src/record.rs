//! A job as it is read back.

use bytes::Bytes;
use rota_model::row::JobRow;
use rota_model::{JobId, Millis, Seq};

/// A job's numbers without its body; a finished job's result is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub seq: Seq,
    pub id: JobId,
    pub place: JobRow,
}

/// What a worker is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    pub id: JobId,
    pub created: Millis,
    pub json: Bytes,
}

/// How many of a job's failed executions are kept: the last ones.
pub const ERRORS_KEPT: usize = 20;

/// Everything about a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub seq: Seq,
    pub body: Body,
    pub place: JobRow,
    /// Failed executions as JSON objects, oldest first.
    pub errors: Vec<Bytes>,
}
