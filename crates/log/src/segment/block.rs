//! A block is one sector: 512 bytes that are written entirely or not at all.
//!
//! | bytes | content |
//! | --- | --- |
//! | 0..8 | checksum of the rest (XXH3, 64 bits) |
//! | 8..16 | salt of the segment |
//! | 16..24 | index of the record that the block belongs to |
//! | 24..28 | position of the block in the segment |
//! | 28..32 | number of the block in the record |
//! | 32..36 | attempt: tells the blocks of a failed append from those of the next one |
//! | 36 | kind |
//! | 37..40 | zero |
//! | 40..512 | content |
//!
//! All numbers are little-endian. A block that was never written is zero, or, in a reused segment,
//! carries an older salt. Anything else with a wrong checksum is damaged.

use twox_hash::XxHash3_64;

/// The size of a block, in bytes.
pub(crate) const BLOCK: usize = 512;
/// What precedes the content of a block, in bytes.
pub(crate) const HEAD: usize = 40;
/// The content of a block, in bytes.
pub(crate) const ROOM: usize = BLOCK - HEAD;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The first block of a segment.
    Segment = 1,
    /// A part of a record.
    Record = 2,
    /// Follows a record that was acknowledged.
    Mark = 3,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockHead {
    pub(crate) salt: u64,
    pub(crate) index: u64,
    pub(crate) position: u32,
    pub(crate) number: u32,
    pub(crate) attempt: u32,
    pub(crate) kind: Kind,
}

/// What a block turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    Zero,
    Whole(BlockHead),
    Damaged,
}

/// Writes head and checksum of a block whose content is in place.
pub(crate) fn seal(block: &mut [u8], head: &BlockHead) {
    block[8..16].copy_from_slice(&head.salt.to_le_bytes());
    block[16..24].copy_from_slice(&head.index.to_le_bytes());
    block[24..28].copy_from_slice(&head.position.to_le_bytes());
    block[28..32].copy_from_slice(&head.number.to_le_bytes());
    block[32..36].copy_from_slice(&head.attempt.to_le_bytes());
    block[36..40].copy_from_slice(&[head.kind as u8, 0, 0, 0]);
    let checksum = XxHash3_64::oneshot(&block[8..BLOCK]);
    block[..8].copy_from_slice(&checksum.to_le_bytes());
}

/// Checks the block at a position. A short slice is the damaged end of a file.
pub(crate) fn examine(block: &[u8], position: u32) -> Seen {
    if block.len() == BLOCK && is_zero(block) {
        return Seen::Zero;
    }
    if block.len() != BLOCK || XxHash3_64::oneshot(&block[8..]) != u64_at(block, 0) {
        return Seen::Damaged;
    }
    let kind = match block[36] {
        1 => Kind::Segment,
        2 => Kind::Record,
        3 => Kind::Mark,
        _ => return Seen::Damaged,
    };
    let head = BlockHead {
        salt: u64_at(block, 8),
        index: u64_at(block, 16),
        position: u32_at(block, 24),
        number: u32_at(block, 28),
        attempt: u32_at(block, 32),
        kind,
    };
    // A block at a place it was not written for got there by a misdirected write.
    if head.position == position { Seen::Whole(head) } else { Seen::Damaged }
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn is_zero(block: &[u8]) -> bool {
    block == [0; BLOCK]
}
