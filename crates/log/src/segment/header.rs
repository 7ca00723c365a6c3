//! The first block of a segment: what the segment is, and which record its first one follows.

use super::block::{BLOCK, BlockHead, HEAD, Kind, Seen, examine, seal, u16_at, u64_at};
use super::record::VERSION;

const MAGIC: &[u8; 8] = b"ROTALOG\0";

/// The first block of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentHead {
    pub(crate) version: u16,
    /// Random; every block of the segment carries it. A reused segment has a new one.
    pub(crate) salt: u64,
    /// The index and the term of the first record.
    pub(crate) first: u64,
    pub(crate) term: u64,
    /// Term and checksum of the record before the first.
    pub(crate) previous_term: u64,
    pub(crate) previous: u64,
}

impl SegmentHead {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + BLOCK, 0);
        let block = &mut out[start..];
        let content = &mut block[HEAD..];
        content[0..8].copy_from_slice(MAGIC);
        content[8..10].copy_from_slice(&self.version.to_le_bytes());
        content[16..24].copy_from_slice(&self.term.to_le_bytes());
        content[24..32].copy_from_slice(&self.previous_term.to_le_bytes());
        content[32..40].copy_from_slice(&self.previous.to_le_bytes());
        let head = BlockHead {
            salt: self.salt,
            index: self.first,
            position: 0,
            number: 0,
            attempt: 0,
            kind: Kind::Segment,
        };
        seal(block, &head);
    }

    /// `None` if the block is not an intact header.
    pub(crate) fn parse(block: &[u8]) -> Option<Self> {
        let Seen::Whole(BlockHead { salt, index, kind: Kind::Segment, .. }) = examine(block, 0)
        else {
            return None;
        };
        let content = &block[HEAD..];
        (&content[0..8] == MAGIC).then(|| Self {
            version: u16_at(content, 8),
            salt,
            first: index,
            term: u64_at(content, 16),
            previous_term: u64_at(content, 24),
            previous: u64_at(content, 32),
        })
    }

    pub(crate) fn is_newer(&self) -> bool {
        self.version > VERSION
    }
}
