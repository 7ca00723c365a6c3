//! Files and directories that only their owner may read: jobs and backups contain other people's data.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Creates the directory and those above it, if they are missing. Those that exist keep their mode.
pub fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Options for files; one that is created gets the mode 600.
#[must_use]
pub fn file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Creates the file, or truncates it.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    file_options().write(true).create(true).truncate(true).open(path)
}

/// Creates the file if it is missing. SQLite gives a file that it creates itself to everybody, and the
/// files beside it the mode of the database.
pub(crate) fn touch(path: &Path) -> io::Result<()> {
    file_options().write(true).create(true).truncate(false).open(path).map(drop)
}
