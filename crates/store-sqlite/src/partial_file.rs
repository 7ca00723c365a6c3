//! A file under construction, which gets its final name only when it is complete.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::CopyError;
use crate::paths::sync_directory_of;
use crate::private_files;

/// Deleted when dropped, unless it was persisted.
pub(crate) struct PartialFile {
    path: PathBuf,
    file: File,
    is_persisted: bool,
}

impl PartialFile {
    /// Creates an empty file, or truncates one that an earlier attempt has left. Fails if another
    /// process is writing it.
    pub(crate) fn create(path: PathBuf) -> Result<Self, CopyError> {
        let failed = |error: std::io::Error| CopyError::failed(&path, error);
        let mut options = private_files::file_options();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(CopyError::Busy { path }),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        file.set_len(0).map_err(failed)?;
        Ok(Self { path, file, is_persisted: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Atomically renames the file, replacing any file of that name.
    pub(crate) fn persist(mut self, name: &Path) -> Result<(), CopyError> {
        let failed = |error: std::io::Error| CopyError::failed(name, error);
        fs::rename(&self.path, name).map_err(failed)?;
        self.is_persisted = true;
        sync_directory_of(name).map_err(failed)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.is_persisted {
            let _ = fs::remove_file(&self.path);
        }
    }
}
