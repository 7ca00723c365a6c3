//! One batch, one transaction.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use rota_store::{Batch, CommitError};
use rusqlite::{Connection, ErrorCode};

use crate::apply::Applier;
use crate::fault::Fault;
use crate::row::key;
use crate::zones::OpenZones;
use crate::{checkpoint, load};

/// The zones are as the last batch left them, or `None` when they have to be read.
pub(crate) fn commit(
    conn: &Connection,
    path: &Path,
    zones: &mut Option<OpenZones>,
    batch: &Batch,
) -> Result<(), CommitError> {
    // What fails leaves them as they were in the database, not as they are in memory.
    let known = zones.take();
    let written = write(conn, known, batch).map_err(|fault| settle(conn, path, batch, fault))?;
    *zones = Some(written);
    Ok(())
}

fn write(conn: &Connection, zones: Option<OpenZones>, batch: &Batch) -> Result<OpenZones, Fault> {
    run(conn, "BEGIN IMMEDIATE")?;
    let mut zones = match zones {
        Some(zones) => zones,
        None => OpenZones::read(conn, load::meta(conn)?.next_seq)?,
    };
    follow(conn, batch)?;
    let mut applier = Applier::new(conn, &mut zones, batch.number)?;
    applier.apply_all(&batch.mutations)?;
    drop(applier);
    zones.open(conn, key(batch.next_seq))?;
    run(conn, "COMMIT")?;
    Ok(zones)
}

/// Refuses a batch that does not follow the last one.
fn follow(conn: &Connection, batch: &Batch) -> Result<(), Fault> {
    let previous = batch.number.wrapping_sub(1) as i64;
    let changed = conn
        .prepare_cached("UPDATE meta SET number = ?1, now = ?2, next_seq = ?3 WHERE number = ?4")?
        .execute((batch.number as i64, batch.now.0, key(batch.next_seq), previous))?;
    if changed == 1 {
        return Ok(());
    }
    let last = load::meta(conn)?.number;
    Err(Fault::Refused(format!("batch {} does not follow batch {last}", batch.number)))
}

/// Undoes what was begun, and finds out whether that went well.
fn settle(conn: &Connection, path: &Path, batch: &Batch, fault: Fault) -> CommitError {
    let fatal = |why: &str| CommitError::Fatal(format!("batch {}: {fault}{why}", batch.number));
    if !conn.is_autocommit() && run(conn, "ROLLBACK").is_err() && !conn.is_autocommit() {
        return fatal("; it could not be rolled back");
    }
    if !is_for_want_of_space(&fault, path) {
        return fatal("");
    }
    let clean = load::meta(conn).is_ok_and(|meta| meta.number == batch.number.wrapping_sub(1));
    if !clean {
        return fatal("; it is unknown whether it was written");
    }
    // What the log holds may fit into the file, and then the log starts over in its own space.
    let _ = checkpoint::now(conn);
    CommitError::Full(fault.to_string())
}

/// SQLite reports a full disk by itself, except where it could not enlarge its shared memory or
/// met a quota: then only the operating system can tell.
fn is_for_want_of_space(fault: &Fault, path: &Path) -> bool {
    match fault.code() {
        Some(ErrorCode::DiskFull) => true,
        Some(ErrorCode::SystemIoFailure) => failed_before_writing(fault) && is_full(path),
        _ => false,
    }
}

/// After a failed fsync, and only then, a commit may have reached the disk all the same.
fn failed_before_writing(fault: &Fault) -> bool {
    use rusqlite::ffi::{
        SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_WRITE,
    };
    let Fault::Sqlite(error) = fault else {
        return false;
    };
    error.sqlite_error().is_some_and(|error| {
        [SQLITE_IOERR_WRITE, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN]
            .contains(&error.extended_code)
    })
}

fn is_full(path: &Path) -> bool {
    let probe = path.with_extension("probe");
    let written = File::create(&probe).and_then(|mut file| {
        file.write_all(&[1; 64 << 10])?;
        file.sync_all()
    });
    let _ = fs::remove_file(&probe);
    written.is_err_and(|error| {
        matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    })
}

fn run(conn: &Connection, sql: &str) -> Result<(), Fault> {
    conn.prepare_cached(sql)?.execute([])?;
    Ok(())
}
