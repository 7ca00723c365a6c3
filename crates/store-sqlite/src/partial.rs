//! A file that gets its name only when it is complete.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use crate::CopyError;
use crate::place::sync_directory_of;

/// Removed when dropped, unless it was given its name.
pub(crate) struct Partial {
    path: PathBuf,
    file: File,
    is_named: bool,
}

impl Partial {
    /// An empty file. One that an earlier attempt left behind is used again; one that another
    /// process is writing is not.
    pub(crate) fn create(path: PathBuf) -> Result<Self, CopyError> {
        let failed = |error: std::io::Error| CopyError::failed(&path, error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(CopyError::Busy { path }),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        file.set_len(0).map_err(failed)?;
        Ok(Self { path, file, is_named: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// From one instant to the next the name stands for this file, whatever it stood for before.
    pub(crate) fn name(mut self, name: &Path) -> Result<(), CopyError> {
        let failed = |error: std::io::Error| CopyError::failed(name, error);
        fs::rename(&self.path, name).map_err(failed)?;
        self.is_named = true;
        sync_directory_of(name).map_err(failed)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_named {
            let _ = fs::remove_file(&self.path);
        }
    }
}
