//! One segment of a history, with all its copies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::HistoryRecord;
use crate::files::{Files, read_full};
use crate::segment::block::BLOCK;
use crate::segment::directory::{failed, read_segment};
use crate::segment::header::SegmentHead;
use crate::segment::name::SegmentName;
use crate::segment::record::{VERSION, decode};
use crate::segment::scan::{Context, scan};
use crate::{Damage, LogError, Tip};

/// A segment of a history.
pub(super) struct Link {
    pub(super) name: SegmentName,
    copies: Vec<PathBuf>,
    /// The record before the first, if a copy says so. A term of 0 is not known.
    pub(super) previous: Option<Tip>,
    /// The last index that belongs to the history; `None` in the newest segment.
    pub(super) last: Option<u64>,
}

/// What the copies of a segment hold.
#[derive(Default)]
pub(super) struct Content {
    /// Readable records by index. Copies that differ have several.
    pub(super) records: BTreeMap<u64, Vec<(HistoryRecord, PathBuf)>>,
    pub(super) damage: Vec<(PathBuf, Damage)>,
}

impl Link {
    pub(super) fn new(name: SegmentName) -> Self {
        Self { name, copies: Vec::new(), previous: None, last: None }
    }

    /// Adds a copy. Of several, the first with a readable header says which record it follows.
    pub(super) fn add<F: Files>(&mut self, files: &F, path: PathBuf) -> Result<(), LogError> {
        if self.previous.is_none() {
            self.previous = self.previous_of(files, &path)?;
        }
        self.copies.push(path);
        Ok(())
    }

    fn previous_of<F: Files>(&self, files: &F, path: &Path) -> Result<Option<Tip>, LogError> {
        let mut block = [0; BLOCK];
        let read = files.open_to_read(path).and_then(|file| read_full(&file, &mut block, 0));
        read.map_err(|error| failed("read", path, &error))?;
        let index = self.name.first.saturating_sub(1);
        if let Some(head) = SegmentHead::parse(&block) {
            if head.is_newer() {
                let segment = self.name.to_string();
                return Err(LogError::Newer { segment, found: head.version, known: VERSION });
            }
            if (head.first, head.term) == (self.name.first, self.name.term) {
                let (term, checksum) = (head.previous_term, head.previous);
                return Ok(Some(Tip { index, term, checksum }));
            }
        }
        // The first record names the one before it, too, but not its term.
        let content = read_segment(files, path)?;
        let scan = scan(self.name, &content, Context { previous: None, last: None });
        let first = scan.records.first().filter(|located| located.head.index == self.name.first);
        Ok(first.map(|located| Tip { index, term: 0, checksum: located.head.previous }))
    }

    /// Reads all copies, or only the first if nothing is missing in it.
    pub(super) fn read<F: Files>(&self, files: &F) -> Result<Content, LogError> {
        let mut content = Content::default();
        for path in &self.copies {
            self.read_copy(files, path, &mut content)?;
            let is_complete = |last| {
                content.damage.is_empty()
                    && content.records.len() as u64 > last - self.name.first
                    && content.records.values().all(|records| records.len() == 1)
            };
            if self.last.is_some_and(is_complete) {
                break;
            }
        }
        Ok(content)
    }

    fn read_copy<F: Files>(
        &self,
        files: &F,
        path: &Path,
        content: &mut Content,
    ) -> Result<(), LogError> {
        let bytes = read_segment(files, path)?;
        let mut scan = scan(self.name, &bytes, Context { previous: None, last: None });
        if let Some(version) = scan.newer {
            let segment = self.name.to_string();
            return Err(LogError::Newer { segment, found: version, known: VERSION });
        }
        content.damage.extend(scan.damage.drain(..).map(|damage| (path.to_owned(), damage)));
        for located in &scan.records {
            let start = located.position as usize * BLOCK;
            let blocks = &bytes[start..start + located.head.blocks() as usize * BLOCK];
            let (head, entry) = decode(blocks).expect("the record was checked");
            let record = HistoryRecord { entry, checksum: head.checksum, previous: head.previous };
            let known = content.records.entry(head.index).or_default();
            if !known.iter().any(|(other, _)| other.checksum == record.checksum) {
                known.push((record, path.to_owned()));
            }
        }
        Ok(())
    }
}
