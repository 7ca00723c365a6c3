//! What is wrong with stored records.

use std::fmt;

/// One damaged place of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file name of the segment.
    pub segment: String,
    /// Where the damage begins, in bytes from the beginning of the segment.
    pub offset: u64,
    /// The first record that cannot be read because of it.
    pub index: u64,
    pub kind: DamageKind,
    /// How many readable records follow, if that was counted.
    pub following: Option<u64>,
}

/// How a record is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamageKind {
    /// The first block of the segment is not intact, or contradicts the file name.
    SegmentHeader,
    /// A block was changed after it was written.
    Block,
    /// Blocks of an acknowledged record are missing.
    Missing,
    /// All blocks are intact, but not the record that they form.
    Record,
    /// The record does not follow the one before it.
    Chain,
    /// The term is lower than that of the record before.
    Term,
    /// The next segment begins with the same record.
    Overlap,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { segment, offset, index, kind, following } = self;
        write!(f, "segment {segment}, offset {offset}, record {index}: {kind}")?;
        match following {
            None => Ok(()),
            Some(0) => write!(f, "; no readable record follows"),
            Some(1) => write!(f, "; 1 readable record follows"),
            Some(count) => write!(f, "; {count} readable records follow"),
        }
    }
}

impl fmt::Display for DamageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SegmentHeader => "the header of the segment is damaged",
            Self::Block => "a block has a wrong checksum",
            Self::Missing => "an acknowledged record is missing in whole or in part",
            Self::Record => "the record has a wrong checksum or length",
            Self::Chain => "the record does not follow the one before it",
            Self::Term => "the term is lower than that of the record before",
            Self::Overlap => "the next segment begins with the same record",
        })
    }
}
