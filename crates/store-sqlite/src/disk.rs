//! Free space on a file system.

use std::path::Path;

use crate::CopyError;
use crate::paths::directory_of;

/// Free bytes on the directory's file system; `None` if the system does not report it.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(dir).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Fails if the file system of `path` has fewer than `needed` bytes free, so that a copy which
/// cannot succeed does not start.
pub(crate) fn require_free_space(path: &Path, needed: u64) -> Result<(), CopyError> {
    match free_bytes(directory_of(path)) {
        Some(free) if free < needed => {
            Err(CopyError::NoSpace { path: path.to_owned(), needed, free })
        }
        _ => Ok(()),
    }
}
