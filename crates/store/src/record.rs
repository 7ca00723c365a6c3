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

impl Record {
    /// Bytes of the body, the result and the errors, which have no fixed size.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let result = match &self.row {
            JobRow::Done(done) => done.result.as_ref().map_or(0, Bytes::len),
            JobRow::Live(_) => 0,
        };
        self.body.json.len() + result + self.errors.iter().map(Bytes::len).sum::<usize>()
    }
}
