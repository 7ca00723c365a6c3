//! Where files are.

use std::fs::File;
use std::path::Path;

/// Without this a name may be lost with the power, though the file is not.
pub(crate) fn sync_directory_of(path: &Path) -> std::io::Result<()> {
    File::open(directory_of(path))?.sync_all()
}

pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Whether two paths lead to the same file or directory, which must exist.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
