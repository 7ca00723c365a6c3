//! Making way for a new database without losing the old one.
//!
//! The old file and its log belong together, and the old log must never meet the new file. Two
//! names cannot change in one step, so first everything in the log is moved into the old file:
//! then that file alone is the old database, and one step replaces it by the new one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rota_model::Millis;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::fault::Fault;
use crate::place::sync_directory_of;
use crate::{CopyError, header, pragma};

/// Files that SQLite would take for parts of whatever database lies beside them.
const PARTS: [&str; 2] = ["-wal", "-journal"];

pub(crate) struct Old {
    path: PathBuf,
    is_database: bool,
}

impl Old {
    /// What is there under the name of the new database.
    pub(crate) fn in_the_way(path: &Path) -> Result<Self, CopyError> {
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

    /// Afterwards the name can be given to another file. Up to then the old database is whole
    /// under it, unless it was too damaged to be opened.
    pub(crate) fn set_aside(self) -> Result<Vec<PathBuf>, CopyError> {
        if self.is_database {
            self.fold_log()?;
        }
        let parts = PARTS.map(|ending| header::beside(&self.path, ending));
        let mut from: Vec<PathBuf> = parts.into_iter().filter(|part| has_content(part)).collect();
        if self.is_database {
            from.insert(0, self.path.clone());
        }
        let failed = |error: io::Error| CopyError::not_set_aside(&self.path, &error);
        let kept = self.link(&from).map_err(failed)?;
        self.forget_parts().map_err(failed)?;
        Ok(kept)
    }

    /// A file that SQLite cannot open has no log that it could use, and no server starts on it.
    fn fold_log(&self) -> Result<(), CopyError> {
        match fold(&self.path) {
            Ok(true) => Ok(()),
            Ok(false) => Err(CopyError::InUse { path: self.path.clone() }),
            Err(fault) => match fault.code() {
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) | None => Ok(()),
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    Err(CopyError::InUse { path: self.path.clone() })
                }
                Some(_) => Err(CopyError::failed(&self.path, fault)),
            },
        }
    }

    /// Second names instead of new ones, so that nothing is missing under the first.
    fn link(&self, from: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
        if from.is_empty() {
            return Ok(Vec::new());
        }
        let base = free_name(&self.path);
        let aside = |path: &PathBuf| {
            let ending = &path.as_os_str().as_encoded_bytes()[self.path.as_os_str().len()..];
            header::beside(&base, &String::from_utf8_lossy(ending))
        };
        let names: Vec<PathBuf> = from.iter().map(aside).collect();
        for (path, name) in from.iter().zip(&names) {
            fs::hard_link(path, name)?;
        }
        sync_directory_of(&self.path)?;
        Ok(names)
    }

    fn forget_parts(&self) -> io::Result<()> {
        for ending in PARTS.into_iter().chain(["-shm"]) {
            match fs::remove_file(header::beside(&self.path, ending)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        sync_directory_of(&self.path)
    }
}

/// Moves the log into the file; false when another program keeps it from that.
fn fold(path: &Path) -> Result<bool, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    pragma::for_any_use(&conn)?;
    let busy: bool = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    conn.close().map_err(|(_, error)| error)?;
    Ok(!busy)
}

/// `rota.db.replaced-20261115T205731Z`, or with a number behind it if that is taken.
fn free_name(path: &Path) -> PathBuf {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)).to_string();
    let seconds = now.split('.').next().unwrap_or(&now).replace(['-', ':'], "");
    let base = header::beside(path, &format!(".replaced-{seconds}Z"));
    let is_free = |path: &PathBuf| {
        let parts = PARTS.map(|ending| header::beside(path, ending));
        !path.exists() && !parts.iter().any(|part| part.exists())
    };
    let numbered = (2..).map(|n: u64| header::beside(&base, &format!("-{n}")));
    std::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or(base)
}

fn has_content(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0)
}
