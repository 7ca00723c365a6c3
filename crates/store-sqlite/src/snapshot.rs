//! The database as of one moment, for as long as it is looked at.
//!
//! A server may go on writing meanwhile, but what it writes stays in its log until the snapshot is
//! let go of: hold one no longer than needed.

use std::fs;
use std::path::{Path, PathBuf};

use rota_store::Loaded;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::fault::Fault;
use crate::header::{self, Look};
use crate::{OpenError, load, migrate, pragma};

pub struct Snapshot {
    conn: Connection,
    path: PathBuf,
    format: u32,
    loaded: Loaded,
}

impl Snapshot {
    /// The database of a data directory, whether a server runs there or not.
    pub fn of_directory(dir: &Path) -> Result<Self, OpenError> {
        let path = dir.join("rota.db");
        let was_closed_in_order = !has_log(&path);
        let snapshot = Self::open(&path, Guard::Locks)?;
        if was_closed_in_order {
            // Nothing is there to be moved, so this only takes the empty log away again.
            let on_close = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
            snapshot
                .conn
                .set_db_config(on_close, false)
                .map_err(|e| Fault::from(e).at_open(&path))?;
        }
        Ok(snapshot)
    }

    /// A database that nobody writes to: a backup, possibly on a medium that cannot be written.
    pub fn of_file(path: &Path) -> Result<Self, OpenError> {
        let guard = if has_log(path) { Guard::Locks } else { Guard::Nothing };
        Self::open(path, guard)
    }

    fn open(path: &Path, guard: Guard) -> Result<Self, OpenError> {
        if header::look(path)? == Look::New {
            return Err(OpenError::Nothing { path: path.to_owned() });
        }
        let at_open = |fault: Fault| fault.at_open(path);
        let conn = connect(path, guard).map_err(at_open)?;
        let loaded = begin(&conn).map_err(at_open)?;
        // The header may be behind the log, so what it told is asked for again.
        let application = migrate::application(&conn).map_err(at_open)?;
        let format = migrate::format(&conn).map_err(at_open)?;
        header::check(path, application, format)?;
        Ok(Self { conn, path: path.to_owned(), format, loaded })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the file's format; it may be older than this version's.
    #[must_use]
    pub fn format(&self) -> u32 {
        self.format
    }

    /// Where the last commit left off.
    #[must_use]
    pub fn loaded(&self) -> Loaded {
        self.loaded
    }

    /// The size of the database, what is in its log included.
    pub fn bytes(&self) -> Result<u64, OpenError> {
        let number = |pragma: &str| {
            let read = self.conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
            read.map(|n| n.max(0) as u64).map_err(|error| Fault::from(error).at_open(&self.path))
        };
        Ok(number("page_count")? * number("page_size")?)
    }

    pub(crate) fn conn(&self) -> &Connection {
        &self.conn
    }
}

/// The format that this version writes, and the newest that it can read.
pub const FORMAT: u32 = migrate::FORMAT;

/// What keeps a file from changing under a reader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// SQLite's locks, which need files beside the database.
    Locks,
    /// Nobody writes to it.
    Nothing,
}

fn connect(path: &Path, guard: Guard) -> Result<Connection, Fault> {
    let common = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = match guard {
        Guard::Locks => {
            Connection::open_with_flags(path, common | OpenFlags::SQLITE_OPEN_READ_WRITE)?
        }
        Guard::Nothing => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(unchanging(path), common | flags)?
        }
    };
    pragma::for_any_use(&conn)?;
    pragma::for_reading(&conn)?;
    Ok(conn)
}

/// The first read is what fixes the moment.
fn begin(conn: &Connection) -> Result<Loaded, Fault> {
    conn.execute_batch("BEGIN")?;
    load::meta_of(conn, migrate::format(conn)?)
}

/// A URI, with everything escaped that could mean something in one.
fn unchanging(path: &Path) -> PathBuf {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut uri = b"file:".to_vec();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.extend_from_slice(format!("%{byte:02x}").as_bytes()),
            byte => uri.push(byte),
        }
    }
    uri.extend_from_slice(b"?immutable=1");
    std::ffi::OsString::from_vec(uri).into()
}

fn has_log(path: &Path) -> bool {
    fs::metadata(header::beside(path, "-wal")).is_ok_and(|log| log.len() > 0)
}
