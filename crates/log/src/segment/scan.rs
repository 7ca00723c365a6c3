//! Reads a whole segment and tells where it ends: after its last record, in a torn record, or in damage.

use super::block::{BLOCK, BlockHead, Kind, Seen, examine};
use super::header::SegmentHead;
use super::name::SegmentName;
use super::record::{RecordHead, VERSION, decode};
use crate::{Damage, DamageKind};

/// What a segment has to continue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context {
    /// Checksum and term of the record before the first, if known from the segment before.
    pub(crate) previous: Option<(u64, u64)>,
    /// The last index of the segment, if another segment follows.
    pub(crate) last: Option<u64>,
}

/// A readable record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Located {
    pub(crate) head: RecordHead,
    /// The position of its first block.
    pub(crate) position: u32,
}

/// What a segment holds.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) header: Option<SegmentHead>,
    /// The version of a header or a record that this version cannot read. Nothing after it was read.
    pub(crate) newer: Option<u16>,
    pub(crate) records: Vec<Located>,
    /// The position behind the last intact block: where the next is written, or damage begins.
    pub(crate) end: u32,
    /// Whether a mark follows the last record.
    pub(crate) settled: bool,
    /// Whether parts of an unacknowledged record follow the last one.
    pub(crate) torn: bool,
    /// In the order of their offsets.
    pub(crate) damage: Vec<Damage>,
}

/// Reads a segment to its end, past damage if there is any.
pub(crate) fn scan(name: SegmentName, bytes: &[u8], context: Context) -> Scan {
    let mut scan =
        Scan { header: bytes.get(..BLOCK).and_then(SegmentHead::parse), ..Scan::default() };
    if let Some(header) = scan.header.filter(SegmentHead::is_newer) {
        scan.newer = Some(header.version);
        return scan;
    }
    let header_damage = header_damage(name, bytes, scan.header, context.previous);
    let mut scanner = Scanner {
        name,
        bytes,
        salt: scan
            .header
            .filter(|header| header.first == name.first)
            .map_or_else(|| salt_of_first_record(name, bytes), |header| header.salt),
        last: context.last,
        next: name.first,
        previous: scan.header.map(|header| (header.previous, header.previous_term)),
        scan,
    };
    if let Some(kind) = header_damage {
        scanner.damaged(0, 0, kind);
    } else if context.last.is_some_and(|last| last < name.first) {
        scanner.damaged(0, 0, DamageKind::Overlap);
    }
    scanner.run();
    scanner.scan
}

/// Whether a block belongs to the segment with this salt, or was left behind by an earlier use.
pub(crate) fn current(seen: Seen, salt: u64) -> Option<BlockHead> {
    match seen {
        Seen::Whole(head) if head.salt == salt => Some(head),
        _ => None,
    }
}

/// What is wrong with the header of a segment, if anything.
fn header_damage(
    name: SegmentName,
    bytes: &[u8],
    header: Option<SegmentHead>,
    previous: Option<(u64, u64)>,
) -> Option<DamageKind> {
    match header {
        Some(header) if (header.first, header.term) != (name.first, name.term) => {
            Some(DamageKind::Missing)
        }
        Some(header) => previous
            .is_some_and(|known| known != (header.previous, header.previous_term))
            .then_some(DamageKind::Chain),
        None => {
            let written = bytes.get(..BLOCK).is_some_and(|block| examine(block, 0) != Seen::Zero);
            Some(if written { DamageKind::SegmentHeader } else { DamageKind::Missing })
        }
    }
}

/// If the header is unreadable, the salt is taken from the block behind it.
fn salt_of_first_record(name: SegmentName, bytes: &[u8]) -> u64 {
    match bytes.get(BLOCK..2 * BLOCK).map(|block| examine(block, 1)) {
        Some(Seen::Whole(head)) if head.index == name.first => head.salt,
        _ => 0,
    }
}

struct Scanner<'a> {
    name: SegmentName,
    bytes: &'a [u8],
    salt: u64,
    last: Option<u64>,
    /// The index that is expected next.
    next: u64,
    /// Checksum and term of the record before that, unless it is damaged.
    previous: Option<(u64, u64)>,
    scan: Scan,
}

/// What is found at a position.
enum Step {
    Record(Located),
    Mark,
    /// Nothing was written here.
    End,
    Torn,
    Newer(u16),
    /// Where, and how.
    Damage(u32, DamageKind),
}

impl Scanner<'_> {
    fn run(&mut self) {
        let mut position = 1;
        loop {
            match self.step(position) {
                Step::Record(located) => {
                    position += located.head.blocks() as u32;
                    self.next = located.head.index + 1;
                    self.previous = Some((located.head.checksum, located.head.term));
                    self.scan.settled = false;
                    self.scan.records.push(located);
                }
                Step::Mark => {
                    position += 1;
                    self.scan.settled = true;
                }
                Step::End => break,
                Step::Torn => {
                    self.scan.torn = true;
                    break;
                }
                Step::Newer(version) => {
                    self.scan.newer = Some(version);
                    break;
                }
                Step::Damage(place, kind) => {
                    self.damaged(position, place, kind);
                    let Some((resumed, index)) = self.next_record_after(position) else { break };
                    position = resumed;
                    self.next = index;
                    self.previous = None;
                }
            }
        }
        if self.scan.damage.is_empty() {
            self.scan.end = position;
        }
    }

    fn step(&self, position: u32) -> Step {
        // What is behind the last record of a closed segment does not matter.
        if self.last.is_some_and(|last| self.next > last) {
            return Step::End;
        }
        if position >= self.blocks() {
            return self.end(position, false);
        }
        let seen = self.examine(position);
        if seen == Seen::Damaged {
            return Step::Damage(position, DamageKind::Block);
        }
        match current(seen, self.salt) {
            Some(head) if head.kind == Kind::Mark && head.index + 1 == self.next => Step::Mark,
            Some(BlockHead { kind: Kind::Record, number: 0, index, attempt, .. })
                if index == self.next =>
            {
                self.record(position, attempt)
            }
            Some(head) if self.proves_more(&head) => Step::Damage(position, DamageKind::Missing),
            _ => self.end(position, false),
        }
    }

    /// Checks the record that begins here.
    fn record(&self, position: u32, attempt: u32) -> Step {
        let start = position as usize * BLOCK;
        let head = RecordHead::parse(&self.bytes[start..start + BLOCK]);
        if head.version > VERSION {
            return Step::Newer(head.version);
        }
        if u64::from(position) + head.blocks() > u64::from(self.blocks()) {
            return Step::Damage(position, DamageKind::Record);
        }
        let count = head.blocks() as u32;
        let mut whole = true;
        for number in 1..count {
            let seen = self.examine(position + number);
            if seen == Seen::Damaged {
                return Step::Damage(position + number, DamageKind::Block);
            }
            whole &= current(seen, self.salt).is_some_and(|block| {
                (block.kind, block.index, block.number, block.attempt)
                    == (Kind::Record, self.next, number, attempt)
            });
        }
        if !whole {
            return self.end(position, true);
        }
        let blocks = &self.bytes[start..start + count as usize * BLOCK];
        let kind = if decode(blocks).is_none() || head.index != self.next {
            DamageKind::Record
        } else if self.previous.is_some_and(|(checksum, _)| checksum != head.previous) {
            DamageKind::Chain
        } else if self.previous.is_some_and(|(_, term)| term > head.term) {
            DamageKind::Term
        } else {
            return Step::Record(Located { head, position });
        };
        Step::Damage(position, kind)
    }

    /// The next record was never written entirely. That is damage if it was acknowledged.
    fn end(&self, position: u32, begun: bool) -> Step {
        let mut torn = begun;
        for later in position..self.blocks() {
            if let Some(head) = current(self.examine(later), self.salt) {
                if self.proves_more(&head) {
                    return Step::Damage(position, DamageKind::Missing);
                }
                torn |= head.index == self.next;
            }
        }
        match self.last {
            Some(last) if self.next <= last => Step::Damage(position, DamageKind::Missing),
            // A segment gets its name after its first record was synced.
            _ if position == 1 => Step::Damage(position, DamageKind::Missing),
            _ if torn => Step::Torn,
            _ => Step::End,
        }
    }

    /// Whether a block proves that the record expected next was acknowledged: it was written later.
    fn proves_more(&self, head: &BlockHead) -> bool {
        match head.kind {
            Kind::Mark => head.index >= self.next,
            _ => head.index > self.next,
        }
    }

    /// The position and the index of the next record that may be readable.
    fn next_record_after(&self, position: u32) -> Option<(u32, u64)> {
        (position + 1..self.blocks()).find_map(|later| {
            let head = current(self.examine(later), self.salt)?;
            (head.kind == Kind::Record && head.number == 0 && head.index > self.next)
                .then_some((later, head.index))
        })
    }

    /// Notes damage at `place`, in the record that begins at `position`.
    fn damaged(&mut self, position: u32, place: u32, kind: DamageKind) {
        if self.scan.damage.is_empty() {
            self.scan.end = position;
        }
        self.scan.damage.push(Damage {
            segment: self.name.to_string(),
            offset: u64::from(place) * BLOCK as u64,
            index: self.next,
            kind,
            following: None,
        });
    }

    /// A last block that is cut short counts.
    fn blocks(&self) -> u32 {
        self.bytes.len().div_ceil(BLOCK) as u32
    }

    fn examine(&self, position: u32) -> Seen {
        let start = position as usize * BLOCK;
        examine(&self.bytes[start..self.bytes.len().min(start + BLOCK)], position)
    }
}
