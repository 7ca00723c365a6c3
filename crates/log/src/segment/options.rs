//! How a log of segments is opened.

use crate::Base;

/// What an acknowledged record survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// A power cut: every append is synced.
    #[default]
    Fsync,
    /// The end of the process. The operating system writes when it likes.
    Os,
}

/// When the next segment is filled with zeros.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Prepare {
    /// Ahead, by a thread of its own.
    #[default]
    Background,
    /// Ahead, by the append that begins the segment before. Makes the order of I/O reproducible.
    InLine,
}

#[derive(Debug, Clone)]
pub struct SegmentOptions {
    /// The size of a segment. One that begins with a larger record is as large as that record needs.
    pub segment_bytes: u64,
    /// The size of the very first segment. It is small, so a new server starts quickly.
    pub first_segment_bytes: u64,
    /// How many truncated segments are kept for reuse.
    pub spare_segments: usize,
    pub durability: Durability,
    pub prepare: Prepare,
    /// What the caller has without the log. Records after it must be in the log.
    pub base: Base,
    /// Whether a missing log is created. Otherwise it is an error.
    pub create: bool,
    /// Makes salts reproducible, for tests.
    pub seed: Option<u64>,
}

impl Default for SegmentOptions {
    fn default() -> Self {
        Self {
            segment_bytes: 16 << 20,
            first_segment_bytes: 256 << 10,
            spare_segments: 2,
            durability: Durability::default(),
            prepare: Prepare::default(),
            base: Base::default(),
            create: true,
            seed: None,
        }
    }
}
