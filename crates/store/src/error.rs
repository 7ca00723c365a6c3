/// A store could not be opened, loaded or read.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    pub message: String,
    /// What is stored makes no sense; reading it again will not help.
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

/// A batch was not committed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    /// Nothing of it was written, and the store is as it was before: the disk is full.
    #[error("no space left: {0}")]
    Full(String),
    /// It may or may not have been written, or the store is damaged. Nothing more may be answered.
    #[error("{0}")]
    Fatal(String),
}
