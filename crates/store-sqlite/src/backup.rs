//! A copy of a data directory's database, while a server runs or not.

use std::fs;
use std::path::{Path, PathBuf};

use crate::check::{self, Depth, Report};
use crate::copy::{self, Stage};
use crate::header::Ways;
use crate::partial::Partial;
use crate::place::{directory_of, is_same};
use crate::{CopyError, Snapshot, disk, header};

/// A backup that was made and checked, or was restored.
#[derive(Debug, Clone)]
pub struct Copied {
    pub bytes: u64,
    pub format: u32,
    /// The number of the last commit in it.
    pub commit: u64,
    pub report: Report,
}

/// Puts a copy under this name, once it is complete, on the disk and checked.
pub fn backup(
    dir: &Path,
    target: &Path,
    overwrite: bool,
    tell: &mut dyn FnMut(Stage),
) -> Result<Copied, CopyError> {
    refuse(dir, target, overwrite)?;
    let snapshot = Snapshot::of_directory(dir)?;
    let bytes = snapshot.bytes()?;
    let partial = Partial::create(header::beside(target, ".partial"))?;
    disk::demand_room(partial.path(), bytes + headroom(dir, target))?;
    same_permissions(snapshot.path(), &partial)?;
    let watch = LogWatch::begin(dir);
    copy::copy(&snapshot, partial.path(), partial.file(), Ways::Alone, &mut |done, total| {
        tell(Stage::Copying { done, total });
        watch.look()
    })?;
    // From here on the server's log is free again.
    drop(snapshot);
    tell(Stage::Checking);
    let copied = examine(partial.path(), &dir.join("rota.db"))?;
    refuse(dir, target, overwrite)?;
    partial.name(target)?;
    Ok(copied)
}

/// Looks at every page and every row of a copy.
pub(crate) fn examine(path: &Path, original: &Path) -> Result<Copied, CopyError> {
    let copy = Snapshot::of_file(path)?;
    let report = check::check(&copy, Depth::Full);
    if let Some(damages) = report.broken() {
        return Err(CopyError::Damaged { path: original.to_owned(), damages });
    }
    Ok(Copied { bytes: copy.bytes()?, format: copy.format(), commit: copy.loaded().number, report })
}

fn refuse(dir: &Path, target: &Path, overwrite: bool) -> Result<(), CopyError> {
    if is_own(dir, target) {
        return Err(CopyError::Own { path: target.to_owned() });
    }
    if target.is_dir() || (!overwrite && target.symlink_metadata().is_ok()) {
        return Err(CopyError::Exists { path: target.to_owned() });
    }
    let beside = ["-wal", "-journal"].map(|ending| header::beside(target, ending));
    match beside.into_iter().find(|path| path.exists()) {
        Some(path) => Err(CopyError::Beside { path }),
        None => Ok(()),
    }
}

/// A name that the server uses in its directory.
fn is_own(dir: &Path, target: &Path) -> bool {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("rota.") && is_same(dir, directory_of(target))
}

/// What should be left on the server's disk after the copy, for the log that grows meanwhile.
const HEADROOM: u64 = 64 << 20;

fn headroom(dir: &Path, target: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.dev());
    if device(dir) == device(directory_of(target)) { HEADROOM } else { 0 }
}

/// Jobs are nobody's business who could not read them before.
fn same_permissions(database: &Path, partial: &Partial) -> Result<(), CopyError> {
    let failed = |error: std::io::Error| CopyError::failed(partial.path(), error);
    let permissions = fs::metadata(database).map_err(failed)?.permissions();
    partial.file().set_permissions(permissions).map_err(failed)
}

/// Ends a copy before it ends the server's room.
struct LogWatch {
    dir: PathBuf,
    log: PathBuf,
    bytes: u64,
}

/// The log may grow by this much whatever is left, since a full disk must not prevent a backup.
const GROWTH_ALLOWED: u64 = 4 << 20;

impl LogWatch {
    fn begin(dir: &Path) -> Self {
        let log = dir.join("rota.db-wal");
        Self { dir: dir.to_owned(), bytes: len(&log), log }
    }

    fn look(&self) -> Result<(), CopyError> {
        let grown = len(&self.log).saturating_sub(self.bytes);
        let is_crowded = || disk::free_bytes(&self.dir).is_some_and(|free| free < HEADROOM / 2);
        if grown > GROWTH_ALLOWED && is_crowded() {
            return Err(CopyError::Crowded { dir: self.dir.clone() });
        }
        Ok(())
    }
}

fn len(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}
