//! Replacing a database file while keeping the old one under another name.
//!
//! SQLite must never apply the old write-ahead log (WAL) to the new file, but two files cannot be
//! renamed in one step. So the WAL is checkpointed first. Then the old file alone is the old
//! database, and one rename replaces it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rota_model::Millis;
use rusqlite::config::DbConfig;
use rusqlite::{ErrorCode, OpenFlags};

use crate::internal_error::InternalError;
use crate::page_kind::PageKind;
use crate::paths::sync_directory_of;
use crate::{CopyError, Snapshot, header, pragma};

/// Suffixes of the files that SQLite applies to the database next to them.
const SIDE_FILES: [&str; 2] = ["-wal", "-journal"];

pub(crate) struct OldDatabase {
    path: PathBuf,
    is_database: bool,
}

impl OldDatabase {
    /// Finds out whether there is a database under the name of the new one.
    pub(crate) fn find(path: &Path) -> Result<Self, CopyError> {
        let is_database = match fs::metadata(path) {
            Ok(metadata) => metadata.len() > 0,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(CopyError::failed(path, error)),
        };
        Ok(Self { path: path.to_owned(), is_database })
    }

    pub(crate) fn is_database(&self) -> bool {
        self.is_database
    }

    /// The term of the old database; 0 if it has none, or cannot be read.
    pub(crate) fn term(&self) -> u64 {
        match self.is_database {
            true => Snapshot::of_file(&self.path).and_then(|old| old.term()).unwrap_or(0),
            false => 0,
        }
    }

    /// Links the old files to new names and removes the WAL, so that a new file can be renamed to
    /// `path`. Until then, the old database is complete under its old name, unless it was too damaged
    /// to be opened. Returns the new names.
    pub(crate) fn move_away(&self) -> Result<Vec<PathBuf>, CopyError> {
        if self.is_database {
            self.checkpoint_wal()?;
        }
        let side_files = SIDE_FILES.map(|suffix| header::with_suffix(&self.path, suffix));
        let mut old: Vec<PathBuf> =
            side_files.into_iter().filter(|path| has_content(path)).collect();
        if self.is_database {
            old.insert(0, self.path.clone());
        }
        let failed = |error: io::Error| CopyError::not_moved_away(&self.path, &error);
        let links = self.link(&old).map_err(failed)?;
        self.remove_side_files().map_err(failed)?;
        Ok(links)
    }

    /// A file that SQLite cannot open is left alone: its WAL is useless, and no server starts on it.
    fn checkpoint_wal(&self) -> Result<(), CopyError> {
        match checkpoint_into_file(&self.path, PageKind::of(&self.path)?) {
            Ok(true) => Ok(()),
            Ok(false) => Err(CopyError::InUse { path: self.path.clone() }),
            Err(error) => match error.code() {
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) | None => Ok(()),
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    Err(CopyError::InUse { path: self.path.clone() })
                }
                Some(_) => Err(CopyError::failed(&self.path, error)),
            },
        }
    }

    /// Hard-links the files to new names. A rename would leave a moment without a database.
    fn link(&self, old: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
        if old.is_empty() {
            return Ok(Vec::new());
        }
        let base = free_name(&self.path);
        let new_name = |path: &PathBuf| {
            let suffix = &path.as_os_str().as_encoded_bytes()[self.path.as_os_str().len()..];
            header::with_suffix(&base, &String::from_utf8_lossy(suffix))
        };
        let names: Vec<PathBuf> = old.iter().map(new_name).collect();
        for (path, name) in old.iter().zip(&names) {
            fs::hard_link(path, name)?;
        }
        sync_directory_of(&self.path)?;
        Ok(names)
    }

    fn remove_side_files(&self) -> io::Result<()> {
        for suffix in SIDE_FILES.into_iter().chain(["-shm"]) {
            match fs::remove_file(header::with_suffix(&self.path, suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        sync_directory_of(&self.path)
    }
}

/// Checkpoints the WAL into the file. Returns false if another program blocks it.
fn checkpoint_into_file(path: &Path, pages: PageKind) -> Result<bool, InternalError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = pages.open(path, flags)?;
    pragma::configure(&conn)?;
    let busy: bool = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    conn.close().map_err(|(_, error)| error)?;
    Ok(!busy)
}

/// `rota.db.replaced-20261115T205731Z`, with a number appended if that name is taken.
fn free_name(path: &Path) -> PathBuf {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)).to_string();
    let seconds = now.split('.').next().unwrap_or(&now).replace(['-', ':'], "");
    let base = header::with_suffix(path, &format!(".replaced-{seconds}Z"));
    let is_free = |path: &PathBuf| {
        let parts = SIDE_FILES.map(|ending| header::with_suffix(path, ending));
        !path.exists() && !parts.iter().any(|part| part.exists())
    };
    let numbered = (2..).map(|n: u64| header::with_suffix(&base, &format!("-{n}")));
    std::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or(base)
}

fn has_content(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0)
}
