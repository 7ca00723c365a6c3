//! Backing up the database of a data directory, whether or not a server is running.

use std::fs;
use std::path::{Path, PathBuf};

use crate::check::{self, Depth, Report};
use crate::copy::{self, Stage};
use crate::header::JournalMode;
use crate::partial_file::PartialFile;
use crate::paths::{directory_of, is_same_file};
use crate::{CopyError, LogRecord, LogStart, Snapshot, disk, header, log_start};

/// The result of a backup or a restore, after the copy was checked.
#[derive(Debug, Clone)]
pub struct Copied {
    pub bytes: u64,
    pub format: u32,
    /// Number of the last committed batch.
    pub commit: u64,
    pub report: Report,
    /// The log it follows, or that the next start begins; `None` in a format without one.
    pub log: Option<LogStart>,
}

/// What a backup copies: a snapshot, and the record of the log that it has applied last.
pub struct BackupSource {
    pub snapshot: Snapshot,
    pub last: Option<LogRecord>,
}

impl From<Snapshot> for BackupSource {
    /// What only the database knows.
    fn from(snapshot: Snapshot) -> Self {
        Self { snapshot, last: None }
    }
}

/// Copies the database of `dir` to `target`, as the snapshot shows it. The file gets its name only after the copy is
/// complete, synced and checked. A server that starts with it begins a new log.
pub fn backup(
    dir: &Path,
    target: &Path,
    overwrite: bool,
    source: impl FnOnce() -> Result<BackupSource, CopyError>,
    progress: &mut dyn FnMut(Stage),
) -> Result<Copied, CopyError> {
    check_target(dir, target, overwrite)?;
    let BackupSource { snapshot, last } = source()?;
    let bytes = snapshot.bytes()?;
    let partial = PartialFile::create(header::with_suffix(target, ".partial"))?;
    disk::require_free_space(partial.path(), bytes + headroom(dir, target))?;
    copy_permissions(snapshot.path(), &partial)?;
    let guard = WalGuard::begin(dir);
    let term = snapshot.term()? + 1;
    copy::copy(
        &snapshot,
        partial.path(),
        partial.file(),
        JournalMode::Rollback,
        |copy| log_start::begin_term(copy, term, last),
        &mut |done, total| {
            progress(Stage::Copying { done, total });
            guard.check()
        },
    )?;
    // From here on the server can restart its write-ahead log.
    drop(snapshot);
    progress(Stage::Checking);
    let copied = check_copy(partial.path(), &dir.join("rota.db"))?;
    check_target(dir, target, overwrite)?;
    partial.persist(target)?;
    Ok(copied)
}

/// Checks every page and every row of a copy. Errors name the original.
pub(crate) fn check_copy(path: &Path, original: &Path) -> Result<Copied, CopyError> {
    let copy = Snapshot::of_file(path)?;
    let report = check::check(&copy, Depth::Full);
    if let Some(damages) = report.broken() {
        return Err(CopyError::Damaged { path: original.to_owned(), damages });
    }
    Ok(Copied {
        bytes: copy.bytes()?,
        format: copy.format(),
        commit: copy.loaded().number,
        report,
        log: copy.log_start()?,
    })
}

fn check_target(dir: &Path, target: &Path, overwrite: bool) -> Result<(), CopyError> {
    if is_server_file(dir, target) {
        return Err(CopyError::ServerFile { path: target.to_owned() });
    }
    if target.is_dir() || (!overwrite && target.symlink_metadata().is_ok()) {
        return Err(CopyError::Exists { path: target.to_owned() });
    }
    let side_files = ["-wal", "-journal"].map(|suffix| header::with_suffix(target, suffix));
    match side_files.into_iter().find(|path| path.exists()) {
        Some(path) => Err(CopyError::StrayFile { path }),
        None => Ok(()),
    }
}

/// Whether the target is a name that the server uses in its data directory.
fn is_server_file(dir: &Path, target: &Path) -> bool {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("rota.") && is_same_file(dir, directory_of(target))
}

/// Bytes to leave free on the server's disk, because its write-ahead log grows during the copy.
const HEADROOM: u64 = 64 << 20;

fn headroom(dir: &Path, target: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.dev());
    if device(dir) == device(directory_of(target)) { HEADROOM } else { 0 }
}

/// Gives the copy the permissions of the database, so that nobody else can read the jobs.
fn copy_permissions(database: &Path, partial: &PartialFile) -> Result<(), CopyError> {
    let failed = |error: std::io::Error| CopyError::failed(partial.path(), error);
    let permissions = fs::metadata(database).map_err(failed)?.permissions();
    partial.file().set_permissions(permissions).map_err(failed)
}

/// Aborts a copy before the server's growing write-ahead log fills the disk.
struct WalGuard {
    dir: PathBuf,
    wal: PathBuf,
    bytes: u64,
}

/// Bytes that the log may grow however little space is left: a backup must be possible even when
/// the disk is nearly full.
const GROWTH_ALLOWED: u64 = 4 << 20;

impl WalGuard {
    fn begin(dir: &Path) -> Self {
        let wal = dir.join("rota.db-wal");
        Self { dir: dir.to_owned(), bytes: len(&wal), wal }
    }

    fn check(&self) -> Result<(), CopyError> {
        let grown = len(&self.wal).saturating_sub(self.bytes);
        let is_low = || disk::free_bytes(&self.dir).is_some_and(|free| free < HEADROOM / 2);
        if grown > GROWTH_ALLOWED && is_low() {
            return Err(CopyError::WalGrowing { dir: self.dir.clone() });
        }
        Ok(())
    }
}

fn len(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}
