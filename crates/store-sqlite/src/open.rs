//! From a directory to a connection that the store can rely on.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use crate::fault::Fault;
use crate::header::{self, Look};
use crate::lock::DirLock;
use crate::mover::Mover;
use crate::{OpenError, Options, checkpoint, migrate, pragma};

pub(crate) fn lock(dir: &Path) -> Result<DirLock, OpenError> {
    fs::create_dir_all(dir).map_err(|error| OpenError::unusable(dir, error))?;
    DirLock::take(dir)
}

/// The caller holds the lock.
pub(crate) fn writer(path: &Path, options: Options) -> Result<Connection, OpenError> {
    let look = header::look(path)?;
    let at_open = |fault: Fault| fault.at_open(path);
    let mut conn = pragma::connect(path).map_err(at_open)?;
    if pragma::is_read_only(&conn).map_err(at_open)? {
        return Err(OpenError::unusable(path, "it is read-only"));
    }
    if look == Look::New && migrate::is_empty(&conn).map_err(at_open)? {
        create(&mut conn).map_err(at_open)?;
    } else {
        bring_up_to_date(&mut conn, path)?;
    }
    if !pragma::use_log(&conn).map_err(at_open)? {
        let cause = "its file system does not support SQLite's write-ahead log";
        return Err(OpenError::unusable(path, cause));
    }
    pragma::for_writing(&conn, options).map_err(at_open)?;
    migrate::check_schema(&conn).map_err(at_open)?;
    Ok(conn)
}

/// With a connection of its own, which writes nothing but moves what others have written.
pub(crate) fn mover(path: &Path, file: Arc<File>, options: Options) -> Result<Mover, OpenError> {
    let at_open = |fault: Fault| fault.at_open(path);
    let conn = pragma::connect(path).map_err(at_open)?;
    pragma::for_writing(&conn, options).map_err(at_open)?;
    Mover::start(conn, file, pragma::log_bound(options))
        .map_err(|error| OpenError::unusable(path, error))
}

pub(crate) fn reader(path: &Path) -> Result<Connection, Fault> {
    let conn = pragma::connect(path)?;
    pragma::for_reading(&conn)?;
    Ok(conn)
}

/// Not yet with a write-ahead log, so that the header tells the format from the first moment.
fn create(conn: &mut Connection) -> Result<(), Fault> {
    pragma::for_creation(conn)?;
    migrate::migrate(conn, 0)
}

/// The header may be behind the log, so what it told is asked for again.
fn bring_up_to_date(conn: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let at_open = |fault: Fault| fault.at_open(path);
    let application = migrate::application(conn).map_err(at_open)?;
    let found = migrate::format(conn).map_err(at_open)?;
    header::check(path, application, found)?;
    if found < migrate::FORMAT {
        migrate::migrate(conn, found).map_err(at_open)?;
        checkpoint::and_truncate(conn).map_err(at_open)?;
    }
    Ok(())
}
