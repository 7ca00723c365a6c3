//! Reading a history forward from a record that the reader already has.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::link::Content;
use super::{History, HistoryError};
use crate::files::{Disk, Files};
use crate::{Base, Entry, LogError, Tip};

/// A record of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRecord {
    pub entry: Entry,
    pub checksum: u64,
    /// The checksum of the record before.
    pub(super) previous: u64,
}

/// Reads a history segment by segment. Every record is checked to follow the one before.
pub struct HistoryReader<'a, F: Files = Disk> {
    history: &'a History<F>,
    /// The segment to read next.
    at: usize,
    position: Tip,
    /// What follows is damaged or missing.
    stopped: Option<HistoryError>,
}

impl<F: Files> History<F> {
    /// A record of this history, as a base to read from. `None` if neither it nor the next is readable.
    pub fn base_at(&self, index: u64) -> Result<Option<Base>, LogError> {
        let at = self.links.partition_point(|link| link.name.first <= index + 1);
        let Some(link) = at.checked_sub(1).map(|at| &self.links[at]) else { return Ok(None) };
        if link.name.first == index + 1 {
            let named = link.previous.filter(|previous| index == 0 || previous.term > 0);
            return Ok(named.map(|Tip { index, term, checksum }| Base { index, term, checksum }));
        }
        let content = link.read(&self.files)?;
        let of = |index: u64| content.records.get(&index).into_iter().flatten();
        let here = of(index).map(|(record, _)| record.checksum);
        let checksum = here.chain(of(index + 1).map(|(record, _)| record.previous)).next();
        Ok(checksum.map(|checksum| Base { index, term: link.name.term, checksum }))
    }

    /// Reads the records after a base, which must be a record of this history.
    pub fn read_after(&self, base: Base) -> Result<HistoryReader<'_, F>, HistoryError> {
        let next = base.index + 1;
        let position = Tip { index: base.index, term: base.term, checksum: base.checksum };
        let reader = |at| HistoryReader { history: self, at, position, stopped: None };
        let Some(oldest) = self.links.first() else { return Ok(reader(0)) };
        if oldest.name.first > next {
            return Err(HistoryError::Gap { from: next, to: oldest.name.first - 1 });
        }
        let at = self.links.partition_point(|link| link.name.first <= next) - 1;
        let link = &self.links[at];
        let newest = self.links.last().expect("there is a segment").name.term;
        let known = match link.name.first == next {
            true => Known::of_previous(link.previous.map(|previous| previous.checksum), base),
            false => Known::of_content(&link.read(&self.files)?, base),
        };
        match known {
            Known::Same | Known::Unreadable => Ok(reader(at)),
            // The base is newer than these segments.
            Known::Nothing if link.last.is_none() && base.term >= newest => {
                Ok(reader(self.links.len()))
            }
            Known::Other | Known::Nothing => {
                Err(HistoryError::Abandoned { index: base.index, term: base.term, newest })
            }
        }
    }
}

impl<F: Files> HistoryReader<'_, F> {
    /// The last record that was returned, or the base.
    pub fn position(&self) -> Tip {
        self.position
    }

    /// The next records, all of one segment. `None` at the end. Records before a gap or damage are returned
    /// first, and then the error.
    pub fn next_records(&mut self) -> Result<Option<Vec<HistoryRecord>>, HistoryError> {
        loop {
            if let Some(error) = &self.stopped {
                return Err(error.clone());
            }
            let Some(link) = self.history.links.get(self.at) else { return Ok(None) };
            let content = link.read(&self.history.files)?;
            let (records, end) = follow(self.position, link.name.term, link.last, content);
            self.stopped = end.err();
            if let Some(newest) = records.last() {
                let Entry { index, term, .. } = newest.entry;
                self.position = Tip { index, term, checksum: newest.checksum };
            }
            self.at += 1;
            if !records.is_empty() {
                return Ok(Some(records));
            }
        }
    }
}

/// What a segment says about the record at a base.
enum Known {
    Same,
    Other,
    /// It is damaged, and so is the next.
    Unreadable,
    /// The segment ends before it.
    Nothing,
}

impl Known {
    fn of_previous(previous: Option<u64>, base: Base) -> Self {
        match previous {
            Some(checksum) if checksum == base.checksum => Self::Same,
            Some(_) => Self::Other,
            None => Self::Unreadable,
        }
    }

    fn of_content(content: &Content, base: Base) -> Self {
        let of = |index: u64| content.records.get(&index).into_iter().flatten();
        let here = of(base.index).map(|(record, _)| record.checksum);
        let named = of(base.index + 1).map(|(record, _)| record.previous);
        let mut checksums = here.chain(named).peekable();
        if checksums.peek().is_some() {
            let is_same = checksums.any(|checksum| checksum == base.checksum);
            return if is_same { Self::Same } else { Self::Other };
        }
        let ends_before =
            content.damage.is_empty() && first_after(&content.records, base.index).is_none();
        if ends_before { Self::Nothing } else { Self::Unreadable }
    }
}

/// The records that follow a position, up to the last of the segment, and why there are no more.
fn follow(
    position: Tip,
    term: u64,
    last: Option<u64>,
    mut content: Content,
) -> (Vec<HistoryRecord>, Result<(), HistoryError>) {
    let (mut index, mut checksum) = (position.index + 1, position.checksum);
    let mut records = Vec::new();
    while last.is_none_or(|last| index <= last) {
        let candidates = content.records.remove(&index).unwrap_or_default();
        let elsewhere = candidates.first().map(|(_, path)| path.clone());
        let fits =
            |record: &HistoryRecord| record.previous == checksum && record.entry.term == term;
        let Some((record, _)) = candidates.into_iter().find(|(record, _)| fits(record)) else {
            return (records, why_it_ends(index, last, elsewhere, &content));
        };
        checksum = record.checksum;
        records.push(record);
        index += 1;
    }
    (records, Ok(()))
}

fn why_it_ends(
    index: u64,
    last: Option<u64>,
    elsewhere: Option<PathBuf>,
    content: &Content,
) -> Result<(), HistoryError> {
    if let Some(path) = elsewhere {
        return Err(HistoryError::Foreign { index, path });
    }
    let later = first_after(&content.records, index);
    let end = later.map(|later| later - 1).or(last);
    let damage = content.damage.iter().find(|(_, damage)| damage.index == index);
    match (damage, end) {
        (Some((path, damage)), _) => {
            Err(HistoryError::Damaged { index, path: path.clone(), kind: damage.kind })
        }
        (None, Some(to)) => Err(HistoryError::Gap { from: index, to }),
        (None, None) => Ok(()),
    }
}

fn first_after<T>(records: &BTreeMap<u64, T>, index: u64) -> Option<u64> {
    records.range(index..).next().map(|(index, _)| *index)
}
