//! The state of an open log, and its [`Log`] interface.

use std::path::PathBuf;

use super::block::BLOCK;
use super::directory::failed;
use super::name::SegmentName;
use super::options::SegmentOptions;
use super::read::Cursor;
use super::repair::Removed;
use super::spares::Spares;
use crate::files::{Disk, Files};
use crate::{AppendError, Entry, Log, LogError, Tip};

/// A log in a directory of segments. The caller sees to it that nobody else opens the directory.
pub struct SegmentLog<F: Files = Disk> {
    pub(super) files: F,
    pub(super) directory: PathBuf,
    pub(super) options: SegmentOptions,
    pub(super) tip: Tip,
    /// By first index; the last is the one that is written to. Empty until the first append.
    pub(super) segments: Vec<Segment>,
    pub(super) current: Option<Current<F::File>>,
    pub(super) spares: Spares<F>,
    pub(super) cursor: Option<Cursor<F::File>>,
    /// Reused for every write.
    pub(super) buffer: Vec<u8>,
    pub(super) rng: fastrand::Rng,
    /// Why nothing more is accepted: the outcome of a write or a sync is unknown.
    pub(super) broken: Option<String>,
    pub(super) dropped: Option<Removed>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) name: SegmentName,
    pub(super) bytes: u64,
}

/// The segment that is written to.
pub(super) struct Current<H> {
    pub(super) file: H,
    pub(super) term: u64,
    pub(super) salt: u64,
    /// The position of the next block.
    pub(super) end: u32,
    /// The size in blocks.
    pub(super) blocks: u32,
    /// Whether a mark follows the last record.
    pub(super) settled: bool,
}

/// A segment of an open log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentInfo {
    pub path: PathBuf,
    pub term: u64,
    pub first: u64,
    pub last: u64,
    pub bytes: u64,
    /// Nothing will be written to it any more.
    pub closed: bool,
}

impl<F: Files> SegmentLog<F> {
    /// The segments, oldest first. A closed one may be copied until it is truncated.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        let info = |(at, segment): (usize, &Segment)| SegmentInfo {
            path: self.directory.join(segment.name.to_string()),
            term: segment.name.term,
            first: segment.name.first,
            last: self.last_of(at),
            bytes: segment.bytes,
            closed: at + 1 < self.segments.len(),
        };
        self.segments.iter().enumerate().map(info).collect()
    }

    /// How many bytes can be appended without further disk space: in the current segment, and in
    /// spare ones that are ready.
    pub fn room(&self) -> u64 {
        let left = self.current.as_ref().map_or(0, |current| current.blocks - current.end);
        u64::from(left) * BLOCK as u64 + self.spares.bytes()
    }

    /// What a power cut cost, with [`Durability::Os`](crate::Durability::Os): records that were lost
    /// or came after lost ones were removed when the log was opened.
    pub fn dropped(&self) -> Option<&Removed> {
        self.dropped.as_ref()
    }

    /// The last index of a segment.
    pub(super) fn last_of(&self, at: usize) -> u64 {
        self.segments.get(at + 1).map_or(self.tip.index, |next| next.name.first - 1)
    }
}

impl<F: Files> Log for SegmentLog<F> {
    fn tip(&self) -> Tip {
        self.tip
    }

    fn first(&self) -> u64 {
        self.segments.first().map_or(self.tip.index + 1, |segment| segment.name.first)
    }

    async fn append(&mut self, entry: &Entry) -> Result<(), AppendError> {
        self.append_entry(entry)
    }

    async fn settle(&mut self) -> Result<(), AppendError> {
        self.append_mark()
    }

    async fn read(&mut self, from: u64, max_bytes: usize) -> Result<Vec<Entry>, LogError> {
        self.read_entries(from, max_bytes)
    }

    async fn truncate(&mut self, below: u64) -> Result<(), LogError> {
        self.give_up(below)
    }

    async fn release_space(&mut self) -> Result<(), LogError> {
        let removed = self.spares.remove_all();
        removed.map_err(|error| failed("remove spare segments in", &self.directory, &error))
    }

    async fn close(mut self) -> Result<(), LogError> {
        self.spares.stop();
        match self.append_mark() {
            // Without the mark, the last record is as safe as before.
            Ok(()) | Err(AppendError::Full(_)) => Ok(()),
            Err(error) => Err(LogError::Io(error.to_string())),
        }
    }
}
