//! Giving the pages of an older file their checksums.
//!
//! There is no room for them in the pages of such a file, so all of it is copied once. The old file is replaced in one
//! rename, when the copy is complete and synced. Killed before that, the next start begins again.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::header::with_suffix;
use crate::internal_error::InternalError;
use crate::page_kind::PageKind;
use crate::partial_file::PartialFile;
use crate::paths::sync_directory_of;
use crate::{CopyError, OpenError, checkpoint, disk, file_owner, pragma};

/// How often the log says how far the copy is.
const BETWEEN_REPORTS: Duration = Duration::from_secs(5);

/// Copies a file without checksums to one with them. Nobody else has it open.
pub(crate) fn add_checksums(path: &Path) -> Result<(), OpenError> {
    let open_error = |error: InternalError| error.into_open_error(path);
    let old = open_old(path).map_err(open_error)?;
    // From here on the file alone is the database.
    if !checkpoint::truncate(&old).map_err(open_error)? {
        return Err(OpenError::unusable(
            path,
            "its write-ahead log cannot be moved into it: another program has it open, or the disk is full",
        ));
    }
    let bytes = fs::metadata(path).map_err(|error| OpenError::unusable(path, error))?.len();
    tracing::info!(bytes, "the pages of the database get checksums, which is done once");
    let copy = PartialFile::create(with_suffix(path, ".partial")).map_err(copy_error)?;
    disk::require_free_space(copy.path(), bytes).map_err(copy_error)?;
    file_owner::copy_owner(copy.path(), path);
    with_reports(copy.path(), bytes, || write_copy(&old, copy.path())).map_err(open_error)?;
    copy.file().sync_all().map_err(|error| OpenError::unusable(copy.path(), error))?;
    close(old).map_err(open_error)?;
    remove_log(path).map_err(|error| OpenError::unusable(path, error))?;
    copy.persist(path).map_err(copy_error)?;
    tracing::info!("the pages of the database have checksums");
    Ok(())
}

fn open_old(path: &Path) -> Result<Connection, InternalError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let old = PageKind::Plain.open(path, flags)?;
    pragma::configure(&old)?;
    Ok(old)
}

/// `VACUUM INTO` lays out every page anew, with room for a checksum.
fn write_copy(old: &Connection, to: &Path) -> Result<(), InternalError> {
    let mut uri = crate::snapshot::file_uri(to).into_os_string();
    uri.push("?vfs=");
    uri.push(rota_sqlite_pages::register()?);
    let uri = uri.into_string().map_err(|_| {
        InternalError::Rejected("the path of the data directory is not valid UTF-8".to_owned())
    })?;
    rota_sqlite_pages::reserve(old)?;
    old.execute("VACUUM INTO ?1", [uri])?;
    Ok(())
}

/// Closing the last connection removes the write-ahead log.
fn close(old: Connection) -> Result<(), InternalError> {
    old.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    Ok(old.close().map_err(|(_, error)| error)?)
}

/// SQLite would apply what is left of the old log to the new file.
fn remove_log(path: &Path) -> io::Result<()> {
    for suffix in ["-wal", "-shm"] {
        match fs::remove_file(with_suffix(path, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    sync_directory_of(path)
}

/// Says in the log, every few seconds, how far the copy is.
fn with_reports<T>(copy: &Path, total: u64, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let (done, is_done): (Sender<()>, _) = channel();
        scope.spawn(move || {
            while is_done.recv_timeout(BETWEEN_REPORTS) == Err(RecvTimeoutError::Timeout) {
                let written = fs::metadata(copy).map_or(0, |metadata| metadata.len());
                tracing::info!(written, total, "adding checksums to the database");
            }
        });
        let result = work();
        drop(done);
        result
    })
}

fn copy_error(error: CopyError) -> OpenError {
    match error {
        CopyError::Open(error) => error,
        CopyError::NoSpace { ref path, .. } => OpenError::no_space(path, &error),
        CopyError::Failed { ref path, ref cause, .. } => OpenError::unusable(path, cause),
        CopyError::Busy { ref path } => OpenError::unusable(path, &error),
        error => OpenError::unusable(Path::new("rota.db"), error),
    }
}
