//! The errors that a store returns to its caller.

/// Opening, loading or reading a store failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    pub message: String,
    /// The stored data is corrupt, so retrying will not help.
    pub damaged: bool,
}

impl StoreError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), damaged: false }
    }

    pub fn damaged(message: impl Into<String>) -> Self {
        Self { message: message.into(), damaged: true }
    }
}

/// Applying batches failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ApplyError {
    /// The disk is full. Nothing was applied, and the view is usable as before.
    #[error("no space left: {0}")]
    Full(String),
    /// The outcome is unknown, or the view is corrupt. The process must not answer any more
    /// requests.
    #[error("{0}")]
    Fatal(String),
}
