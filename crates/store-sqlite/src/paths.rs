//! Small functions on paths and directories.

use std::fs::File;
use std::path::Path;

/// Syncs the directory of a file, so that a new name survives a power failure.
pub(crate) fn sync_directory_of(path: &Path) -> std::io::Result<()> {
    File::open(directory_of(path))?.sync_all()
}

pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Whether both paths exist and refer to the same file or directory.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
