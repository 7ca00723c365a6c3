//! Copying one segment.

use std::io;
use std::path::Path;

use super::ArchiveError;
use crate::LogError;
use crate::files::{FileHandle, Files, is_full, write_all};
use crate::segment::block::BLOCK;
use crate::segment::directory::{failed, path_of, read_segment};
use crate::segment::name::SegmentName;
use crate::segment::record::VERSION;
use crate::segment::scan::{Context, scan};

/// Copies the records of a segment up to `last`, unless the archive has them.
pub(super) fn copy<F: Files>(
    files: &F,
    log: &Path,
    archive: &Path,
    name: SegmentName,
    last: u64,
) -> Result<(), ArchiveError> {
    let source = path_of(log, name);
    make_durable(files, log, &source)?;
    let content = records_up_to(files, name, &source, last)?;
    let target = path_of(archive, name);
    if let Some(present) = read_if_present(files, archive, name)? {
        if present.starts_with(&content) {
            return Ok(());
        }
        // A damaged copy is replaced; a sound one with other records is somebody else's.
        if Readable::new(name, &present).problem.is_none() && !content.starts_with(&present) {
            return Err(ArchiveError::Conflict { path: target });
        }
    }
    write(files, archive, name, &content)
}

/// Without syncs of its own, the log could lose after a power cut what the archive has.
fn make_durable<F: Files>(files: &F, log: &Path, source: &Path) -> Result<(), ArchiveError> {
    let synced = files.open(source).and_then(|file| file.sync_data());
    synced.and_then(|()| files.sync_dir(log)).map_err(|error| io_error("sync", source, &error))
}

/// The beginning of a segment, up to the end of its record `last`.
fn records_up_to<F: Files>(
    files: &F,
    name: SegmentName,
    source: &Path,
    last: u64,
) -> Result<Vec<u8>, ArchiveError> {
    let mut bytes = read_segment(files, source)?;
    let Readable { ends, problem } = Readable::new(name, &bytes);
    match ends.into_iter().find(|(index, _)| *index == last) {
        Some((_, end)) => bytes.truncate(end),
        None => {
            let missing = format!("{} does not have record {last}", source.display());
            return Err(problem.unwrap_or(ArchiveError::Io(missing)));
        }
    }
    Ok(bytes)
}

/// The records of a segment before its first damage.
struct Readable {
    /// The index of each record, and where it ends, in bytes.
    ends: Vec<(u64, usize)>,
    problem: Option<ArchiveError>,
}

impl Readable {
    fn new(name: SegmentName, bytes: &[u8]) -> Self {
        let mut scan = scan(name, bytes, Context { previous: None, last: None });
        if let Some(version) = scan.newer {
            let segment = name.to_string();
            let newer = LogError::Newer { segment, found: version, known: VERSION };
            return Self { ends: Vec::new(), problem: Some(newer.into()) };
        }
        let damage = (!scan.damage.is_empty()).then(|| scan.damage.swap_remove(0));
        let is_before = |index| damage.as_ref().is_none_or(|damage| index < damage.index);
        let before = scan.records.iter().filter(|located| is_before(located.head.index));
        let end = |position, blocks| (u64::from(position) + blocks) as usize * BLOCK;
        let ends = before
            .map(|located| (located.head.index, end(located.position, located.head.blocks())));
        let ends = ends.collect();
        let problem = damage.map(|damage| ArchiveError::SourceDamaged(Box::new(damage)));
        Self { ends, problem }
    }
}

fn read_if_present<F: Files>(
    files: &F,
    archive: &Path,
    name: SegmentName,
) -> Result<Option<Vec<u8>>, ArchiveError> {
    let names = files.list(archive).map_err(|error| io_error("list", archive, &error))?;
    if !names.contains(&name.to_string()) {
        return Ok(None);
    }
    Ok(Some(read_segment(files, &path_of(archive, name))?))
}

/// Writes a copy under another name, reads it back, and gives it its name.
fn write<F: Files>(
    files: &F,
    archive: &Path,
    name: SegmentName,
    content: &[u8],
) -> Result<(), ArchiveError> {
    let path = path_of(archive, name);
    let partial = archive.join(format!("{name}.partial"));
    let failed = |error: io::Error| io_error("write", &partial, &error);
    let names = files.list(archive).map_err(failed)?;
    if names.contains(&format!("{name}.partial")) {
        files.remove(&partial).map_err(failed)?;
    }
    let written = files.create(&partial).and_then(|file| {
        write_all(&file, content, 0)?;
        file.sync_data()
    });
    if let Err(error) = written {
        // Otherwise it would take up the last space. The first failure is the one to report.
        let _ = files.remove(&partial);
        return Err(failed(error));
    }
    if read_segment(files, &partial)? != content {
        return Err(ArchiveError::ReadsDifferently { path: partial });
    }
    files.rename(&partial, &path).map_err(failed)?;
    files.sync_dir(archive).map_err(failed)
}

fn io_error(what: &str, path: &Path, error: &io::Error) -> ArchiveError {
    match failed(what, path, error) {
        LogError::Io(text) if is_full(error) => ArchiveError::Full(text),
        LogError::Io(text) => ArchiveError::Io(text),
        other => other.into(),
    }
}
