//! The newest backup that a data directory knows of. The server keeps its log back to it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rota_store_sqlite::{Copied, LogRecord};
use serde::{Deserialize, Serialize};

use crate::identity::replace_file;

const NAME: &str = "rota.backup.json";

/// A backup that was written and checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupRecord {
    /// An absolute path.
    pub file: PathBuf,
    /// The last record of the log that it has.
    pub index: u64,
    pub term: u64,
    /// That record's checksum; 0 if it is not known.
    pub checksum: u64,
    /// When it was made, in milliseconds since the epoch.
    pub made: i64,
}

impl BackupRecord {
    /// `None` if the backup has no log, because its format is older.
    #[must_use]
    pub fn new(file: &Path, copied: &Copied, made: i64) -> Option<Self> {
        let LogRecord { index, term, checksum } = copied.log?.last();
        let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        Some(Self { file, index, term, checksum, made })
    }

    /// The newest backup of a data directory; `None` if none was recorded.
    pub fn read(dir: &Path) -> io::Result<Option<Self>> {
        match fs::read(dir.join(NAME)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
            // What cannot be read counts as no backup: the next one writes it anew.
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        }
    }

    pub fn write(&self, dir: &Path) -> io::Result<()> {
        let text = serde_json::to_string(self).map_err(io::Error::other)?;
        replace_file(&dir.join(NAME), text.as_bytes())
    }

    /// Forgets the newest backup: the history that it belongs to was abandoned.
    pub(crate) fn remove(dir: &Path) -> io::Result<()> {
        match fs::remove_file(dir.join(NAME)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
