//! What is in the directory of a log.

use std::io;
use std::path::{Path, PathBuf};

use super::name::{SegmentName, spare_number};
use crate::LogError;
use crate::files::{FileHandle, Files, read_full};

/// The files of a log.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// By first index.
    pub(crate) segments: Vec<SegmentName>,
    /// Numbers of spare files.
    pub(crate) spares: Vec<u64>,
}

impl Listing {
    pub(crate) fn read<F: Files>(files: &F, directory: &Path) -> Result<Self, LogError> {
        let names = files.list(directory).map_err(|error| failed("list", directory, &error))?;
        let mut listing = Self {
            segments: names.iter().filter_map(|name| SegmentName::parse(name)).collect(),
            spares: names.iter().filter_map(|name| spare_number(name)).collect(),
        };
        listing.segments.sort();
        listing.spares.sort();
        Ok(listing)
    }

    /// 0 without segments.
    pub(crate) fn highest_term(&self) -> u64 {
        self.segments.iter().map(|name| name.term).max().unwrap_or(0)
    }

    /// The segments from the one with this index, or the oldest, to the newest.
    pub(crate) fn after(&self, index: u64) -> &[SegmentName] {
        let older = self.segments.partition_point(|name| name.first <= index);
        &self.segments[older.saturating_sub(1)..]
    }
}

/// Reads a whole segment.
pub(crate) fn read_segment<F: Files>(files: &F, path: &Path) -> Result<Vec<u8>, LogError> {
    let read = || -> io::Result<Vec<u8>> {
        let file = files.open_to_read(path)?;
        let mut bytes = vec![0; file.size()? as usize];
        let filled = read_full(&file, &mut bytes, 0)?;
        bytes.truncate(filled);
        Ok(bytes)
    };
    read().map_err(|error| failed("read", path, &error))
}

/// The size of a file, in bytes.
pub(crate) fn size<F: Files>(files: &F, path: &Path) -> Result<u64, LogError> {
    let size = files.open_to_read(path).and_then(|file| file.size());
    size.map_err(|error| failed("read", path, &error))
}

pub(crate) fn path_of(directory: &Path, name: SegmentName) -> PathBuf {
    directory.join(name.to_string())
}

pub(crate) fn failed(what: &str, path: &Path, error: &io::Error) -> LogError {
    LogError::Io(format!("cannot {what} {}: {error}", path.display()))
}
