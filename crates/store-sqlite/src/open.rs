//! Opening the connections of the store: writer, checkpointer and readers.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use rota_sqlite_pages::{WalTail, inspect_wal};
use rusqlite::Connection;

use crate::checkpointer::Checkpointer;
use crate::header::{self, FileKind};
use crate::internal_error::InternalError;
use crate::lock::DirLock;
use crate::page_kind::PageKind;
use crate::{
    OpenError, Options, Snapshot, add_checksums, checkpoint, migrate, pragma, private_files,
    stored_bytes,
};

pub(crate) fn lock(dir: &Path) -> Result<DirLock, OpenError> {
    private_files::create_directory(dir).map_err(|error| OpenError::unusable(dir, error))?;
    DirLock::take(dir)
}

/// Opens, creates or migrates the database. The caller holds the lock.
pub(crate) fn writer(path: &Path) -> Result<Connection, OpenError> {
    let kind = header::file_kind(path)?;
    let open_error = |error: InternalError| error.into_open_error(path);
    if kind == FileKind::New {
        private_files::touch(path).map_err(|error| OpenError::unusable(path, error))?;
    }
    if kind == FileKind::Rota && PageKind::of(path)? == PageKind::Plain {
        require_known_format(path)?;
        add_checksums::add_checksums(path)?;
    }
    require_usable_log(path)?;
    let mut conn = pragma::connect(path, PageKind::Checked).map_err(open_error)?;
    if pragma::is_read_only(&conn).map_err(open_error)? {
        return Err(OpenError::unusable(path, "it is read-only"));
    }
    if kind == FileKind::New && migrate::is_empty(&conn).map_err(open_error)? {
        create(&mut conn).map_err(open_error)?;
    } else {
        upgrade(&mut conn, path)?;
    }
    if !pragma::enable_wal(&conn).map_err(open_error)? {
        let cause = "its file system does not support SQLite's write-ahead log";
        return Err(OpenError::unusable(path, cause));
    }
    pragma::configure_writer(&conn).map_err(open_error)?;
    migrate::check_schema(&conn).map_err(open_error)?;
    Ok(conn)
}

/// The header of an older file does not say whether its write-ahead log has brought it to a newer format.
fn require_known_format(path: &Path) -> Result<(), OpenError> {
    Snapshot::of_file(path).map(drop)
}

/// Every transaction writes the table `meta`, whose only page is the second.
pub(crate) const FIRST_PAGES: u32 = 2;

/// SQLite would take whatever follows a damaged frame of its write-ahead log for the remains of a crash.
pub(crate) fn require_usable_log(path: &Path) -> Result<(), OpenError> {
    let tail = inspect_wal(path, FIRST_PAGES).map_err(|error| OpenError::unusable(path, error))?;
    match tail {
        WalTail::Clean => Ok(()),
        WalTail::Cut { frame } => {
            tracing::warn!(
                frame,
                "the end of the write-ahead log of the database cannot be read; the log has what was in it"
            );
            Ok(())
        }
        WalTail::Damaged(cause) => Err(OpenError::corrupt(path, cause)),
    }
}

/// Starts the checkpointer with its own connection.
pub(crate) fn checkpointer(
    path: &Path,
    file: Arc<File>,
    options: Options,
) -> Result<Checkpointer, OpenError> {
    let open_error = |error: InternalError| error.into_open_error(path);
    let conn = pragma::connect(path, PageKind::Checked).map_err(open_error)?;
    pragma::configure_writer(&conn).map_err(open_error)?;
    Checkpointer::start(conn, file, pragma::wal_page_limit(options))
        .map_err(|error| OpenError::unusable(path, error))
}

pub(crate) fn reader(path: &Path) -> Result<Connection, InternalError> {
    let conn = pragma::connect(path, PageKind::Checked)?;
    pragma::configure_reader(&conn)?;
    Ok(conn)
}

/// Creates the schema before the write-ahead log is enabled, so that the file's header has the
/// format from the start.
fn create(conn: &mut Connection) -> Result<(), InternalError> {
    pragma::configure_creation(conn)?;
    migrate::migrate(conn, 0)
}

/// Checks the format and migrates older ones. The format is read through SQLite, because the file's
/// header may be older than the write-ahead log.
fn upgrade(conn: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let open_error = |error: InternalError| error.into_open_error(path);
    let application = migrate::application(conn).map_err(open_error)?;
    let found = migrate::format(conn).map_err(open_error)?;
    header::check(path, application, found)?;
    let counted = stored_bytes::exists(conn).map_err(open_error)?;
    if found < migrate::FORMAT || !counted {
        migrate::migrate(conn, found).map_err(open_error)?;
        checkpoint::truncate(conn).map_err(open_error)?;
    }
    Ok(())
}
