//! Cutting a log at its first damage. What is removed is kept in a directory beside it.

use std::path::{Path, PathBuf};

use super::block::BLOCK;
use super::directory::{Listing, failed, path_of, read_segment};
use super::name::SegmentName;
use super::record::VERSION;
use super::survey::survey;
use crate::files::{Disk, FileHandle, Files, write_all, write_zeros};
use crate::{Damage, LogError};

/// What was removed from a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Where the log was cut, if it was damaged.
    pub damage: Option<Damage>,
    /// Where the removed segments, or copies of them, are kept.
    pub kept_in: PathBuf,
}

/// Cuts the log in a directory at the first damage, so that it ends with the record before. `None` if
/// nothing is damaged. The log must not be open. After a failure it can be repeated.
pub fn cut_at_damage(directory: &Path) -> Result<Option<Removed>, LogError> {
    cut_at_damage_with(&Disk, directory)
}

/// Removes all segments, so that a new log can begin. `None` if there are none. The log must not be
/// open. After a failure it can be repeated.
pub fn set_aside(directory: &Path) -> Result<Option<Removed>, LogError> {
    set_aside_with(&Disk, directory)
}

/// Like [`cut_at_damage`], on another file system.
pub fn cut_at_damage_with<F: Files>(
    files: &F,
    directory: &Path,
) -> Result<Option<Removed>, LogError> {
    cut_after(files, directory, 0)
}

/// Cuts at the first damage in segments that have records after an index.
pub(super) fn cut_after<F: Files>(
    files: &F,
    directory: &Path,
    index: u64,
) -> Result<Option<Removed>, LogError> {
    let listing = Listing::read(files, directory)?;
    let segments = listing.after(index);
    let survey = survey(files, directory, segments)?;
    if let Some((segment, version)) = survey.newer {
        return Err(LogError::Newer { segment, found: version, known: VERSION });
    }
    let Some(damage) = survey.damage.into_iter().next() else { return Ok(None) };
    let damaged = |segment: &SegmentName| segment.to_string() == damage.segment;
    let at = segments.iter().position(damaged).expect("a listed segment is damaged");
    let aside = Aside::create(files, directory, damage.index)?;
    aside.move_from(&segments[at + 1..])?;
    let name = segments[at];
    if damage.index == name.first {
        aside.move_from(&[name])?;
    } else {
        aside.copy(name)?;
        aside.erase_from(name, survey.segments[at].scan.end)?;
    }
    Ok(Some(Removed { damage: Some(damage), kept_in: aside.path }))
}

/// Like [`set_aside`], on another file system.
pub fn set_aside_with<F: Files>(files: &F, directory: &Path) -> Result<Option<Removed>, LogError> {
    let listing = Listing::read(files, directory)?;
    let Some(oldest) = listing.segments.first() else { return Ok(None) };
    let aside = Aside::create(files, directory, oldest.first)?;
    aside.move_from(&listing.segments)?;
    Ok(Some(Removed { damage: None, kept_in: aside.path }))
}

/// The directory for what is removed.
struct Aside<'a, F> {
    files: &'a F,
    directory: &'a Path,
    path: PathBuf,
}

impl<'a, F: Files> Aside<'a, F> {
    /// Creates an empty one.
    fn create(files: &'a F, directory: &'a Path, index: u64) -> Result<Self, LogError> {
        let mut path = directory.join(format!("removed-{index}"));
        let mut number = 1;
        while !files.list(&path).map_err(|error| failed("list", &path, &error))?.is_empty() {
            number += 1;
            path = directory.join(format!("removed-{index}-{number}"));
        }
        files.create_dir(&path).map_err(|error| failed("create", &path, &error))?;
        let aside = Self { files, directory, path };
        aside.sync(directory)?;
        Ok(aside)
    }

    /// Moves segments, newest first. Both directories are synced after each, so a power cut cannot
    /// leave a gap.
    fn move_from(&self, segments: &[SegmentName]) -> Result<(), LogError> {
        for &name in segments.iter().rev() {
            let from = path_of(self.directory, name);
            let moved = self.files.rename(&from, &path_of(&self.path, name));
            moved.map_err(|error| failed("move", &from, &error))?;
            self.sync(&self.path)?;
            self.sync(self.directory)?;
        }
        Ok(())
    }

    fn copy(&self, name: SegmentName) -> Result<(), LogError> {
        let content = read_segment(self.files, &path_of(self.directory, name))?;
        let path = path_of(&self.path, name);
        let write = || {
            let file = self.files.create(&path)?;
            write_all(&file, &content, 0)?;
            file.sync_data()
        };
        write().map_err(|error| failed("write", &path, &error))?;
        self.sync(&self.path)
    }

    /// Overwrites a segment with zeros from a block on.
    fn erase_from(&self, name: SegmentName, position: u32) -> Result<(), LogError> {
        let path = path_of(self.directory, name);
        let erase = || {
            let file = self.files.open(&path)?;
            let whole = file.size()?.next_multiple_of(BLOCK as u64);
            write_zeros(&file, u64::from(position) * BLOCK as u64, whole)?;
            file.sync_data()
        };
        erase().map_err(|error| failed("write", &path, &error))
    }

    fn sync(&self, directory: &Path) -> Result<(), LogError> {
        self.files.sync_dir(directory).map_err(|error| failed("sync", directory, &error))
    }
}
