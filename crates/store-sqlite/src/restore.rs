//! Putting a backup in the place of the database of a data directory.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::backup::{Copied, check_copy};
use crate::copy::{self, Stage};
use crate::header::JournalMode;
use crate::lock::DirLock;
use crate::partial_file::PartialFile;
use crate::paths::{is_same_file, sync_directory_of};
use crate::replace_database::OldDatabase;
use crate::{CopyError, Snapshot, disk, file_owner, log_start, open, private_files, stored_bytes};

/// The result of a restore.
#[derive(Debug, Clone)]
pub struct Restored {
    pub copied: Copied,
    /// New paths of the files that the backup has replaced.
    pub replaced_files: Vec<PathBuf>,
}

/// A database under construction beside the one that it will replace, in a directory that no server uses.
pub struct Restoration {
    dir: PathBuf,
    staging: PathBuf,
    old: OldDatabase,
    _lock: DirLock,
}

/// Copies a backup into a directory that no server uses. The copy replaces the database in one
/// rename, after it is complete, synced and checked.
pub fn restore(
    file: &Path,
    dir: &Path,
    replace: bool,
    progress: &mut dyn FnMut(Stage),
) -> Result<Restored, CopyError> {
    // A file that is no backup is refused before anything is made.
    drop(Snapshot::of_file(file)?);
    let restoration = Restoration::begin(dir, replace)?;
    restoration.copy(file, progress)?;
    restoration.install(file, progress)
}

impl Restoration {
    /// Fails if a server uses the directory, or if it has a database that is not to be replaced.
    pub fn begin(dir: &Path, replace: bool) -> Result<Self, CopyError> {
        let lock = open::lock(dir)?;
        file_owner::copy_owner(&dir.join("rota.lock"), dir);
        let target = dir.join("rota.db");
        let old = OldDatabase::find(&target)?;
        if old.is_database() && !replace {
            return Err(CopyError::Exists { path: target });
        }
        let staging = dir.join("rota.restoring");
        let failed = |error: std::io::Error| CopyError::failed(&staging, error);
        if staging.exists() {
            fs::remove_dir_all(&staging).map_err(failed)?;
        }
        private_files::create_directory(&staging).map_err(failed)?;
        Ok(Self { dir: dir.to_owned(), staging, old, _lock: lock })
    }

    /// The directory in which the new database is made, as `rota.db`.
    #[must_use]
    pub fn staging(&self) -> &Path {
        &self.staging
    }

    /// The term of the old database; 0 if there is none, or if it cannot be read.
    #[must_use]
    pub fn old_term(&self) -> u64 {
        self.old.term()
    }

    /// Copies a backup into the staging directory. A server that starts with it begins a new term.
    pub fn copy(&self, file: &Path, progress: &mut dyn FnMut(Stage)) -> Result<(), CopyError> {
        if is_same_file(file, &self.dir.join("rota.db")) {
            return Err(CopyError::ServerFile { path: file.to_owned() });
        }
        let backup = Snapshot::of_file(file)?;
        let partial = PartialFile::create(self.staging.join("rota.db.partial"))?;
        disk::require_free_space(partial.path(), backup.bytes()?)?;
        let mode = JournalMode::Wal;
        let term = backup.term()?.max(self.old.term() + 1);
        let finish = |copy: &Connection| {
            // The next start counts the bytes again, so backing up and restoring repairs wrong counts.
            stored_bytes::forget(copy)?;
            log_start::begin_term(copy, term, None)
        };
        copy::copy(&backup, partial.path(), partial.file(), mode, finish, &mut |done, total| {
            progress(Stage::Copying { done, total });
            Ok(())
        })?;
        partial.persist(&self.staging.join("rota.db"))
    }

    /// Checks the new database and puts it in its place. Errors name the file that it was made from.
    pub fn install(
        self,
        made_from: &Path,
        progress: &mut dyn FnMut(Stage),
    ) -> Result<Restored, CopyError> {
        progress(Stage::Checking);
        let (made, target) = (self.staging.join("rota.db"), self.dir.join("rota.db"));
        let copied = check_copy(&made, made_from)?;
        let owner = if self.old.is_database() { &target } else { &self.dir };
        file_owner::copy_owner(&made, owner);
        let replaced_files = self.old.move_away()?;
        let renamed = fs::rename(&made, &target).and_then(|()| sync_directory_of(&target));
        renamed.map_err(|error| CopyError::failed(&target, error))?;
        Ok(Restored { copied, replaced_files })
    }
}

/// Nothing in the staging directory is needed after a restore, whether it succeeded or not.
impl Drop for Restoration {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.staging);
    }
}
