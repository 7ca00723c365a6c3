//! Reading one closed segment by itself, as an archive has it.

use std::path::Path;

use super::block::BLOCK;
use super::directory::read_segment;
use super::name::SegmentName;
use super::record::{VERSION, decode};
use super::scan::{Context, scan};
use crate::files::{Disk, Files};
use crate::{Entry, LogError, Tip};

/// The content of one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedSegment {
    pub name: SegmentName,
    /// The record before the first. A segment continues another if this is the other's `tip`.
    pub previous: Tip,
    /// The last record.
    pub tip: Tip,
    pub entries: Vec<Entry>,
}

/// Reads and checks a segment that was copied under its own name.
pub fn read_archived(path: &Path) -> Result<ArchivedSegment, LogError> {
    read_archived_with(&Disk, path)
}

/// Like [`read_archived`], on another file system.
pub fn read_archived_with<F: Files>(files: &F, path: &Path) -> Result<ArchivedSegment, LogError> {
    let file_name = path.file_name().and_then(|name| name.to_str());
    let name = file_name.and_then(SegmentName::parse).ok_or_else(|| {
        LogError::Missing(format!("{} is not the name of a segment", path.display()))
    })?;
    let content = read_segment(files, path)?;
    let mut scan = scan(name, &content, Context { previous: None, last: None });
    if let Some(version) = scan.newer {
        return Err(LogError::Newer { segment: name.to_string(), found: version, known: VERSION });
    }
    if !scan.damage.is_empty() {
        return Err(LogError::Damaged(Box::new(scan.damage.swap_remove(0))));
    }
    let header = scan.header.expect("an intact segment has a header");
    let newest = scan.records.last().expect("an intact segment has a record").head;
    let entries = scan.records.iter().map(|located| {
        let start = located.position as usize * BLOCK;
        let blocks = &content[start..start + located.head.blocks() as usize * BLOCK];
        decode(blocks).expect("the record was checked").1
    });
    Ok(ArchivedSegment {
        name,
        previous: Tip {
            index: name.first.saturating_sub(1),
            term: header.previous_term,
            checksum: header.previous,
        },
        tip: Tip { index: newest.index, term: newest.term, checksum: newest.checksum },
        entries: entries.collect(),
    })
}
