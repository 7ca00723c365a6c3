//! Reading records of an open log.

use super::block::{BLOCK, BlockHead, Kind, Seen, examine};
use super::directory::{failed, path_of};
use super::header::SegmentHead;
use super::name::SegmentName;
use super::record::{RecordHead, decode};
use super::scan::current;
use super::segment_log::SegmentLog;
use crate::files::{FileHandle, Files, read_full};
use crate::{Damage, DamageKind, Entry, Log, LogError};

/// Where the last read ended, so that the next one can go on from there.
pub(super) struct Cursor<H> {
    file: H,
    name: SegmentName,
    salt: u64,
    /// The index of the next record, and where to look for it.
    next: u64,
    position: u32,
    /// The checksum of the record before.
    previous: u64,
}

impl<F: Files> SegmentLog<F> {
    pub(super) fn read_entries(
        &mut self,
        from: u64,
        max_bytes: usize,
    ) -> Result<Vec<Entry>, LogError> {
        let first = self.first();
        if from < first {
            return Err(LogError::Truncated { from, first });
        }
        let mut entries = Vec::new();
        let mut bytes = 0_usize;
        let mut index = from;
        while index <= self.tip.index {
            let mut cursor = self.cursor_at(index)?;
            let length = cursor.head()?.payload as usize;
            bytes = bytes.saturating_add(length);
            if !entries.is_empty() && bytes > max_bytes {
                self.cursor = Some(cursor);
                break;
            }
            entries.push(cursor.take()?);
            self.cursor = Some(cursor);
            index += 1;
        }
        Ok(entries)
    }

    /// The cursor at a record that exists.
    fn cursor_at(&mut self, index: u64) -> Result<Cursor<F::File>, LogError> {
        let at = self.segments.partition_point(|segment| segment.name.first <= index) - 1;
        let name = self.segments[at].name;
        let usable = |cursor: &Cursor<F::File>| cursor.name == name && cursor.next <= index;
        let mut cursor = match self.cursor.take().filter(usable) {
            Some(cursor) => cursor,
            None => self.open_cursor(name)?,
        };
        while cursor.next < index {
            cursor.skip()?;
        }
        Ok(cursor)
    }

    fn open_cursor(&self, name: SegmentName) -> Result<Cursor<F::File>, LogError> {
        let path = path_of(&self.directory, name);
        let file = self.files.open_to_read(&path).map_err(|error| failed("open", &path, &error))?;
        let mut cursor = Cursor { file, name, salt: 0, next: name.first, position: 0, previous: 0 };
        let header = SegmentHead::parse(&cursor.blocks(0, 1)?)
            .filter(|header| (header.first, header.term) == (name.first, name.term))
            .ok_or_else(|| cursor.damaged(0, DamageKind::SegmentHeader))?;
        cursor.salt = header.salt;
        cursor.previous = header.previous;
        cursor.position = 1;
        Ok(cursor)
    }
}

impl<H: FileHandle> Cursor<H> {
    /// The head of the next record. Steps over marks before it.
    fn head(&mut self) -> Result<RecordHead, LogError> {
        loop {
            let block = self.blocks(self.position, 1)?;
            match current(examine(&block, self.position), self.salt) {
                Some(BlockHead { kind: Kind::Mark, index, .. }) if index + 1 == self.next => {
                    self.position += 1;
                }
                Some(BlockHead { kind: Kind::Record, number: 0, index, .. })
                    if index == self.next =>
                {
                    return Ok(RecordHead::parse(&block));
                }
                _ => return Err(self.damaged(self.position, DamageKind::Block)),
            }
        }
    }

    fn skip(&mut self) -> Result<(), LogError> {
        let head = self.head()?;
        self.advance(&head);
        Ok(())
    }

    fn take(&mut self) -> Result<Entry, LogError> {
        let head = self.head()?;
        let count = head.blocks() as u32;
        let blocks = self.blocks(self.position, count)?;
        let mut attempt = None;
        for (number, block) in (0..).zip(blocks.chunks(BLOCK)) {
            let seen = examine(block, self.position + number);
            let fits = current(seen, self.salt).is_some_and(|block| {
                (block.kind, block.index, block.number) == (Kind::Record, self.next, number)
                    && *attempt.get_or_insert(block.attempt) == block.attempt
            });
            if !fits {
                let kind =
                    if seen == Seen::Damaged { DamageKind::Block } else { DamageKind::Missing };
                return Err(self.damaged(self.position + number, kind));
            }
        }
        let (_, entry) = decode(&blocks)
            .filter(|(head, _)| head.index == self.next)
            .ok_or_else(|| self.damaged(self.position, DamageKind::Record))?;
        if head.previous != self.previous {
            return Err(self.damaged(self.position, DamageKind::Chain));
        }
        self.advance(&head);
        Ok(entry)
    }

    fn advance(&mut self, head: &RecordHead) {
        self.position += head.blocks() as u32;
        self.previous = head.checksum;
        self.next += 1;
    }

    /// Reads consecutive blocks. What lies beyond the end of the file is missing.
    fn blocks(&self, position: u32, count: u32) -> Result<Vec<u8>, LogError> {
        let mut bytes = vec![0; count as usize * BLOCK];
        let offset = u64::from(position) * BLOCK as u64;
        let filled = read_full(&self.file, &mut bytes, offset)
            .map_err(|error| LogError::Io(format!("cannot read segment {}: {error}", self.name)))?;
        bytes.truncate(filled);
        if filled < count as usize * BLOCK {
            return Err(self.damaged(position, DamageKind::Missing));
        }
        Ok(bytes)
    }

    fn damaged(&self, position: u32, kind: DamageKind) -> LogError {
        LogError::Damaged(Box::new(Damage {
            segment: self.name.to_string(),
            offset: u64::from(position) * BLOCK as u64,
            index: self.next,
            kind,
            following: None,
        }))
    }
}
