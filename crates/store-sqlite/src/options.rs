//! The options of the embedded store.

/// The options of a [`SqliteView`](crate::SqliteView).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Size of the reserve file that is deleted when the disk is full; 0 disables it. It should be
    /// larger than the write-ahead log, which can exceed 32 MiB, so that the freed space is enough
    /// for a checkpoint.
    pub reserve_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { reserve_bytes: 64 << 20 }
    }
}
