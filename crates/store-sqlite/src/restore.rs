//! Restoring a backup into a data directory.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::backup::{Copied, check_copy};
use crate::copy::{self, Stage};
use crate::header::JournalMode;
use crate::partial_file::PartialFile;
use crate::paths::is_same_file;
use crate::replace_database::OldDatabase;
use crate::{CopyError, Snapshot, disk, file_owner, log_start, open, stored_bytes};

/// The result of a restore.
#[derive(Debug, Clone)]
pub struct Restored {
    pub copied: Copied,
    /// New paths of the files that the backup has replaced.
    pub replaced_files: Vec<PathBuf>,
}

/// Copies a backup into a directory that no server uses. The copy replaces the database in one
/// rename, after it is complete, synced and checked.
pub fn restore(
    file: &Path,
    dir: &Path,
    replace: bool,
    progress: &mut dyn FnMut(Stage),
) -> Result<Restored, CopyError> {
    let target = dir.join("rota.db");
    if is_same_file(file, &target) {
        return Err(CopyError::ServerFile { path: file.to_owned() });
    }
    let backup = Snapshot::of_file(file)?;
    let _lock = open::lock(dir)?;
    file_owner::copy_owner(&dir.join("rota.lock"), dir);
    let old = OldDatabase::find(&target)?;
    if old.is_database() && !replace {
        return Err(CopyError::Exists { path: target });
    }
    let partial = PartialFile::create(dir.join("rota.db.restoring"))?;
    disk::require_free_space(partial.path(), backup.bytes()?)?;
    let mode = JournalMode::Wal;
    let term = backup.term()?.max(old.term() + 1);
    let finish = |copy: &Connection| {
        // The next start counts the bytes again, so backing up and restoring repairs wrong counts.
        stored_bytes::forget(copy)?;
        log_start::begin_term(copy, term)
    };
    copy::copy(&backup, partial.path(), partial.file(), mode, finish, &mut |done, total| {
        progress(Stage::Copying { done, total });
        Ok(())
    })?;
    drop(backup);
    progress(Stage::Checking);
    let copied = check_copy(partial.path(), file)?;
    file_owner::copy_owner(partial.path(), if old.is_database() { &target } else { dir });
    let replaced_files = old.move_away()?;
    partial.persist(&target)?;
    Ok(Restored { copied, replaced_files })
}
