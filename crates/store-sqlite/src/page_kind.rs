//! Whether the pages of a file carry checksums, and opening it accordingly.

use std::io;
use std::path::Path;

use rota_sqlite_pages::{has_checksums, register};
use rusqlite::{Connection, OpenFlags};

use crate::OpenError;

/// The pages of a database file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// With checksums, which are verified on every read.
    Checked,
    /// Without, as in formats before 12.
    Plain,
}

impl PageKind {
    /// Looks at the file. One that does not exist yet will have checksums.
    pub(crate) fn of(path: &Path) -> Result<Self, OpenError> {
        match has_checksums(path) {
            Ok(true) => Ok(Self::Checked),
            Ok(false) => Ok(Self::Plain),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Checked),
            Err(error) => Err(OpenError::unusable(path, error)),
        }
    }

    pub(crate) fn open(
        self,
        path: impl AsRef<Path>,
        flags: OpenFlags,
    ) -> rusqlite::Result<Connection> {
        match self {
            Self::Checked => Connection::open_with_flags_and_vfs(path, flags, register()?),
            Self::Plain => Connection::open_with_flags(path, flags),
        }
    }
}
