//! Jobs as a reader returns them.

use bytes::Bytes;
use rota_model::row::JobRow;
use rota_model::{JobId, Millis, Seq};

/// A job without its body. The result of a finished job is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub seq: Seq,
    pub id: JobId,
    pub row: JobRow,
}

/// The part of a job that a worker receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    pub id: JobId,
    pub created: Millis,
    /// JSON members without the enclosing braces.
    pub json: Bytes,
}

/// Number of errors retained per job, including those from before a retry. Older ones are dropped.
pub const ERRORS_KEPT: usize = 20;

/// A complete job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub seq: Seq,
    pub body: Body,
    pub row: JobRow,
    /// Errors of failed executions as JSON objects, oldest first.
    pub errors: Vec<Bytes>,
    /// How often rules have replayed the job, as JSON; see [`rota_model::Replays`].
    pub replays: Option<Bytes>,
}
