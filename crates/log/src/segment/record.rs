//! A record is laid out over consecutive blocks. Its head is at the beginning of the first:
//!
//! | bytes | content |
//! | --- | --- |
//! | 0..2 | format version |
//! | 2..4 | zero |
//! | 4..8 | length of the payload |
//! | 8..16 | index |
//! | 16..24 | term |
//! | 24..32 | time |
//! | 32..40 | checksum of the record before |
//! | 40..48 | checksum of this record: of the 40 bytes before and the checksum of the payload |

use bytes::{Bytes, BytesMut};
use twox_hash::XxHash3_64;

use super::block::{BLOCK, BlockHead, HEAD, Kind, ROOM, seal, u16_at, u32_at, u64_at};
use crate::Entry;

/// The newest format that this version reads, and the one it writes.
pub(crate) const VERSION: u16 = 1;
/// The largest payload, in bytes.
pub const MAX_PAYLOAD: usize = 1 << 30;
/// The head of a record, in bytes.
const RECORD_HEAD: usize = 48;

/// The head of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordHead {
    pub(crate) version: u16,
    pub(crate) payload: u32,
    pub(crate) index: u64,
    pub(crate) term: u64,
    pub(crate) time: i64,
    pub(crate) previous: u64,
    pub(crate) checksum: u64,
}

/// Where a record goes, and what identifies its blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) salt: u64,
    pub(crate) position: u32,
    pub(crate) attempt: u32,
}

impl RecordHead {
    /// Reads the head from the first block of a record.
    pub(crate) fn parse(block: &[u8]) -> Self {
        let head = &block[HEAD..HEAD + RECORD_HEAD];
        Self {
            version: u16_at(head, 0),
            payload: u32_at(head, 4),
            index: u64_at(head, 8),
            term: u64_at(head, 16),
            time: u64_at(head, 24) as i64,
            previous: u64_at(head, 32),
            checksum: u64_at(head, 40),
        }
    }

    pub(crate) fn blocks(&self) -> u64 {
        blocks(self.payload as usize)
    }
}

/// How many blocks a record with a payload of this length has.
pub(crate) fn blocks(payload: usize) -> u64 {
    (RECORD_HEAD + payload).div_ceil(ROOM) as u64
}

/// Appends the blocks of a record to `out`, and returns the record's checksum.
pub(crate) fn encode(entry: &Entry, previous: u64, slot: Slot, out: &mut Vec<u8>) -> u64 {
    let (head, checksum) = encode_head(entry, previous);
    let start = out.len();
    let count = blocks(entry.payload.len()) as u32;
    out.resize(start + count as usize * BLOCK, 0);
    let mut rest = &entry.payload[..];
    for number in 0..count {
        let block = &mut out[start + number as usize * BLOCK..][..BLOCK];
        let mut at = HEAD;
        if number == 0 {
            block[at..at + RECORD_HEAD].copy_from_slice(&head);
            at += RECORD_HEAD;
        }
        let part;
        (part, rest) = rest.split_at(rest.len().min(BLOCK - at));
        block[at..at + part.len()].copy_from_slice(part);
        seal(
            block,
            &BlockHead {
                salt: slot.salt,
                index: entry.index,
                position: slot.position + number,
                number,
                attempt: slot.attempt,
                kind: Kind::Record,
            },
        );
    }
    checksum
}

/// Puts a record together from its blocks, each of which was examined. `None` if its checksum is wrong.
pub(crate) fn decode(blocks: &[u8]) -> Option<(RecordHead, Entry)> {
    let head = RecordHead::parse(blocks);
    let mut payload = BytesMut::with_capacity(head.payload as usize);
    for (number, block) in blocks.chunks(BLOCK).enumerate() {
        let from = if number == 0 { HEAD + RECORD_HEAD } else { HEAD };
        let left = head.payload as usize - payload.len();
        payload.extend_from_slice(&block[from..(from + left).min(BLOCK)]);
    }
    let payload: Bytes = payload.freeze();
    let checksum = record_checksum(&blocks[HEAD..HEAD + RECORD_HEAD - 8], &payload);
    let entry = Entry { index: head.index, term: head.term, time: head.time, payload };
    (checksum == head.checksum).then_some((head, entry))
}

fn encode_head(entry: &Entry, previous: u64) -> ([u8; RECORD_HEAD], u64) {
    let length = u32::try_from(entry.payload.len()).expect("payloads are at most MAX_PAYLOAD");
    let mut head = [0; RECORD_HEAD];
    head[0..2].copy_from_slice(&VERSION.to_le_bytes());
    head[4..8].copy_from_slice(&length.to_le_bytes());
    head[8..16].copy_from_slice(&entry.index.to_le_bytes());
    head[16..24].copy_from_slice(&entry.term.to_le_bytes());
    head[24..32].copy_from_slice(&entry.time.to_le_bytes());
    head[32..40].copy_from_slice(&previous.to_le_bytes());
    let checksum = record_checksum(&head[..RECORD_HEAD - 8], &entry.payload);
    head[40..48].copy_from_slice(&checksum.to_le_bytes());
    (head, checksum)
}

fn record_checksum(head: &[u8], payload: &[u8]) -> u64 {
    let mut parts = [0; RECORD_HEAD];
    parts[..RECORD_HEAD - 8].copy_from_slice(head);
    parts[RECORD_HEAD - 8..].copy_from_slice(&XxHash3_64::oneshot(payload).to_le_bytes());
    XxHash3_64::oneshot(&parts)
}
