//! What is known about the archive of the log.

/// How far the archive has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchiveStatus {
    /// The last record that is in the archive.
    pub archived: u64,
    /// The last committed record.
    pub committed: u64,
    /// Why the last attempt failed.
    pub failure: Option<String>,
    /// How many attempts have failed.
    pub failures: u64,
}

impl ArchiveStatus {
    /// Records that are committed and not archived.
    #[must_use]
    pub fn behind(&self) -> u64 {
        self.committed.saturating_sub(self.archived)
    }

    pub(super) fn next(self, archived: u64, committed: u64, failure: Option<String>) -> Self {
        let failures = self.failures + u64::from(failure.is_some());
        Self { archived: archived.max(self.archived), committed, failure, failures }
    }
}
