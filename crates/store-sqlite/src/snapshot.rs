//! A consistent view of a database in one read transaction, in any process.
//!
//! A server can write meanwhile, but cannot restart its write-ahead log until the snapshot is
//! dropped, so hold one no longer than needed.

use std::fs;
use std::path::{Path, PathBuf};

use rota_store::Loaded;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::header::{self, FileKind};
use crate::internal_error::InternalError;
use crate::log_start::{self, LogStart};
use crate::page_kind::PageKind;
use crate::{OpenError, load, migrate, open, pragma};

/// An open read transaction on a database file.
pub struct Snapshot {
    conn: Connection,
    path: PathBuf,
    pages: PageKind,
    format: u32,
    loaded: Loaded,
}

impl Snapshot {
    /// Opens the database of a data directory, whether or not a server is running.
    pub fn of_directory(dir: &Path) -> Result<Self, OpenError> {
        let path = dir.join("rota.db");
        let was_closed_cleanly = !has_wal(&path);
        open::require_usable_log(&path)?;
        let snapshot = Self::open(&path, Access::Locked)?;
        if was_closed_cleanly {
            // There is nothing to checkpoint, so this only deletes the empty WAL on close.
            let on_close = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            snapshot
                .conn
                .set_db_config(on_close, false)
                .map_err(|e| InternalError::from(e).into_open_error(&path))?;
        }
        Ok(snapshot)
    }

    /// Opens a database that nobody writes to, such as a backup on read-only media.
    pub fn of_file(path: &Path) -> Result<Self, OpenError> {
        let access = if has_wal(path) { Access::Locked } else { Access::Immutable };
        Self::open(path, access)
    }

    fn open(path: &Path, access: Access) -> Result<Self, OpenError> {
        if header::file_kind(path)? == FileKind::New {
            return Err(OpenError::Nothing { path: path.to_owned() });
        }
        let open_error = |error: InternalError| error.into_open_error(path);
        let pages = PageKind::of(path)?;
        let conn = connect(path, access, pages).map_err(open_error)?;
        let loaded = begin(&conn).map_err(open_error)?;
        // Read through SQLite, because the file's header may be older than the write-ahead log.
        let application = migrate::application(&conn).map_err(open_error)?;
        let format = migrate::format(&conn).map_err(open_error)?;
        header::check(path, application, format)?;
        Ok(Self { conn, path: path.to_owned(), pages, format, loaded })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's format, which may be older than [`FORMAT`].
    #[must_use]
    pub fn format(&self) -> u32 {
        self.format
    }

    /// Position of the last committed batch.
    #[must_use]
    pub fn loaded(&self) -> Loaded {
        self.loaded
    }

    /// The log that it follows; `None` in a format without one.
    pub fn log_start(&self) -> Result<Option<LogStart>, OpenError> {
        if self.format < migrate::LOG {
            return Ok(None);
        }
        let start = log_start::read(&self.conn);
        start.map(Some).map_err(|error| error.into_open_error(&self.path))
    }

    /// The term of its log; 0 in a format without one.
    pub(crate) fn term(&self) -> Result<u64, OpenError> {
        Ok(self.log_start()?.map_or(0, |start| start.term))
    }

    /// Size of the database in bytes, including pages that are only in the write-ahead log.
    pub fn bytes(&self) -> Result<u64, OpenError> {
        let number = |pragma: &str| {
            let read = self.conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
            read.map(|n| n.max(0) as u64)
                .map_err(|error| InternalError::from(error).into_open_error(&self.path))
        };
        Ok(number("page_count")? * number("page_size")?)
    }

    /// Whether its pages carry checksums.
    pub(crate) fn pages(&self) -> PageKind {
        self.pages
    }

    pub(crate) fn conn(&self) -> &Connection {
        &self.conn
    }
}

/// The format that this version writes, and the newest that it can read.
pub const FORMAT: u32 = migrate::FORMAT;

/// How to open a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// With SQLite's locks, which need files next to the database.
    Locked,
    /// Without locks, because nobody writes to the file.
    Immutable,
}

fn connect(path: &Path, access: Access, pages: PageKind) -> Result<Connection, InternalError> {
    let common = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = match access {
        Access::Locked => pages.open(path, common | OpenFlags::SQLITE_OPEN_READ_WRITE)?,
        Access::Immutable => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            let mut uri = file_uri(path).into_os_string();
            uri.push("?immutable=1");
            pages.open(PathBuf::from(uri), common | flags)?
        }
    };
    pragma::configure(&conn)?;
    pragma::configure_reader(&conn)?;
    Ok(conn)
}

/// Begins the transaction. Its first read fixes the state that it sees.
fn begin(conn: &Connection) -> Result<Loaded, InternalError> {
    conn.execute_batch("BEGIN")?;
    load::meta_of(conn, migrate::format(conn)?)
}

/// The URI of a file, with special characters escaped.
pub(crate) fn file_uri(path: &Path) -> PathBuf {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut uri = b"file:".to_vec();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.extend_from_slice(format!("%{byte:02x}").as_bytes()),
            byte => uri.push(byte),
        }
    }
    std::ffi::OsString::from_vec(uri).into()
}

fn has_wal(path: &Path) -> bool {
    fs::metadata(header::with_suffix(path, "-wal")).is_ok_and(|wal| wal.len() > 0)
}
