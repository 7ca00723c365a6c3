//! Copying segments to an archive.
//!
//! A copy has the segment's name, and ends with its last record. The open segment is copied, too, up to the last
//! committed record; when more has been committed, a longer copy replaces it. A copy is written under another
//! name, synced, read back and then renamed, so a file with the name of a segment is always whole.

mod copy;
mod error;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::archived::read_archived;
use super::directory::{Listing, path_of};
use super::name::SegmentName;
use crate::LogError;
use crate::files::{Disk, Files};
pub use error::ArchiveError;

/// Copies a log's segments to an archive, oldest first.
pub struct ArchiveWriter<F: Files = Disk> {
    files: F,
    log: PathBuf,
    archive: PathBuf,
    /// The last index of the copy of each segment that the log still has.
    copied: BTreeMap<SegmentName, u64>,
}

impl ArchiveWriter {
    /// An archive that exists for a log that is being written.
    pub fn new(log: &Path, archive: &Path) -> Self {
        Self::new_with(Disk, log, archive)
    }
}

impl<F: Files> ArchiveWriter<F> {
    /// Like [`ArchiveWriter::new`], on another file system.
    pub fn new_with(files: F, log: &Path, archive: &Path) -> Self {
        let (log, archive) = (log.to_owned(), archive.to_owned());
        Self { files, log, archive, copied: BTreeMap::new() }
    }

    /// Copies what is not in the archive yet, up to the record `committed`; the open segment only if
    /// `with_open`. Afterwards, everything below the returned index is in the archive. After an error,
    /// [`ArchiveWriter::needed`] says what the archive lacks.
    pub fn advance(&mut self, committed: u64, with_open: bool) -> Result<u64, ArchiveError> {
        let segments = Listing::read(&self.files, &self.log)?.segments;
        self.copied.retain(|name, _| segments.contains(name));
        if let Some(newest) = segments.last() {
            self.refuse_newer_history(newest.term)?;
        }
        for (at, &name) in segments.iter().enumerate() {
            let next = segments.get(at + 1);
            // A segment that is younger than `committed` was read.
            let last = next.map_or(committed, |next| next.first - 1).min(committed);
            let is_copied = self.copied.get(&name).is_some_and(|copied| *copied >= last);
            if is_copied || last < name.first || (next.is_none() && !with_open) {
                continue;
            }
            copy::copy(&self.files, &self.log, &self.archive, name, last)?;
            self.copied.insert(name, last);
        }
        Ok(self.archived(&segments).map_or(committed + 1, |index| index.min(committed + 1)))
    }

    /// The first index that the archive lacks, as far as is known without reading it; `None` if the log
    /// has no segments.
    pub fn needed(&self) -> Result<Option<u64>, ArchiveError> {
        let segments = Listing::read(&self.files, &self.log)?.segments;
        Ok(self.archived(&segments))
    }

    fn archived(&self, segments: &[SegmentName]) -> Option<u64> {
        let mut needed = segments.first()?.first;
        for (at, name) in segments.iter().enumerate() {
            let Some(&copied) = self.copied.get(name) else { break };
            needed = copied + 1;
            if segments.get(at + 1).is_some_and(|next| next.first != needed) {
                break;
            }
        }
        Some(needed)
    }

    /// Whoever writes under an older term is not the archive's server any more.
    fn refuse_newer_history(&self, term: u64) -> Result<(), ArchiveError> {
        let archived = Listing::read(&self.files, &self.archive)?;
        match archived.highest_term() {
            newest if newest > term => Err(ArchiveError::NewerTerm { newest, term }),
            _ => Ok(()),
        }
    }
}

/// The index after the newest record of an archive; `None` if it has no segments. Reads the newest only.
pub fn archive_end(archive: &Path) -> Result<Option<u64>, LogError> {
    let segments = Listing::read(&Disk, archive)?.segments;
    let newest = segments.iter().max_by_key(|name| (name.term, name.first));
    let read = newest.map(|&name| read_archived(&path_of(archive, name)));
    Ok(read.transpose()?.map(|segment| segment.tip.index + 1))
}

/// The highest term of the segments in a directory; 0 if there are none.
pub fn highest_term(directory: &Path) -> Result<u64, LogError> {
    Ok(Listing::read(&Disk, directory)?.highest_term())
}
