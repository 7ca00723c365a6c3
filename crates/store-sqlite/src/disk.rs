//! Room on a file system.

use std::path::Path;

use crate::CopyError;
use crate::place::directory_of;

/// What is left on the file system of this directory, where that can be told.
pub(crate) fn free_bytes(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Better before the first byte than after the last that fits.
pub(crate) fn demand_room(path: &Path, needed: u64) -> Result<(), CopyError> {
    match free_bytes(directory_of(path)) {
        Some(free) if free < needed => {
            Err(CopyError::NoRoom { path: path.to_owned(), needed, free })
        }
        _ => Ok(()),
    }
}
