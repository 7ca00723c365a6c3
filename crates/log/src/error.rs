//! The errors that a log returns to its caller.

use crate::Damage;

/// Appending a record failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// No space is left. Nothing was appended, and the log is usable as before.
    #[error("no space left: {0}")]
    Full(String),
    /// Another writer has taken over. Nothing was appended.
    #[error("another writer has taken over: {0}")]
    Deposed(String),
    /// The entry does not follow the tip or is too large. Nothing was appended.
    #[error("{0}")]
    Refused(String),
    /// The outcome is unknown. The log accepts nothing more until it is opened again.
    #[error("{0}")]
    Fatal(String),
}

/// Opening, reading or truncating a log failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// Stored records are damaged. Nothing was changed.
    #[error("the log is damaged: {0}")]
    Damaged(Box<Damage>),
    /// The log was written by a newer version. Nothing was changed.
    #[error(
        "segment {segment} of the log has format {found}; this version reads up to format {known}"
    )]
    Newer { segment: String, found: u16, known: u16 },
    /// The log is intact, but its records do not continue what the caller has.
    #[error("{0}")]
    Range(String),
    /// There is no log, and it was not to be created.
    #[error("{0}")]
    Missing(String),
    /// These records have been truncated.
    #[error("record {from} is no longer in the log, which begins at {first}")]
    Truncated { from: u64, first: u64 },
    #[error("{0}")]
    Io(String),
}
