//! Applying a portion of the log, one or more batches, in one transaction; and classifying failures.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use rota_store::{Applied, ApplyError, Batch};
use rusqlite::{Connection, ErrorCode};

use crate::apply::Applier;
use crate::internal_error::InternalError;
use crate::row::key;
use crate::stored_bytes::ByteCounter;
use crate::zones::OpenZones;
use crate::{checkpoint, load, private_files};

/// What is kept in memory between portions. A failed one resets it, and the next one reads it from the
/// database.
#[derive(Default)]
pub(crate) struct Kept {
    /// The open zones after the previous portion; `None` if they must be read.
    zones: Option<OpenZones>,
    bytes: ByteCounter,
}

/// Applies consecutive batches.
pub(crate) fn apply(
    conn: &Connection,
    path: &Path,
    kept: &mut Kept,
    batches: &[Batch],
) -> Result<Applied, ApplyError> {
    let Some(first) = batches.first() else { return Ok(Applied::default()) };
    // If the portion fails, what is in memory no longer matches the database.
    let before = std::mem::take(kept);
    let written = write(conn, before, batches);
    let (after, applied) = written.map_err(|error| roll_back(conn, path, first.number, error))?;
    *kept = after;
    Ok(applied)
}

fn write(
    conn: &Connection,
    kept: Kept,
    batches: &[Batch],
) -> Result<(Kept, Applied), InternalError> {
    run(conn, "BEGIN IMMEDIATE")?;
    let Kept { zones, mut bytes } = kept;
    let mut zones = match zones {
        Some(zones) => zones,
        None => OpenZones::read(conn, load::meta(conn)?.next_seq)?,
    };
    for batch in batches {
        advance_meta(conn, batch)?;
    }
    let mut applier = Applier::new(conn, &mut zones, &mut bytes)?;
    applier.apply_all(batches)?;
    drop(applier);
    if let Some(last) = batches.last() {
        zones.advance(conn, key(last.next_seq))?;
    }
    let freed = bytes.finish(conn)?;
    run(conn, "COMMIT")?;
    Ok((Kept { zones: Some(zones), bytes }, Applied { freed }))
}

/// Stores the batch's number, time and next sequence number. Rejects a batch that does not follow
/// the last one.
fn advance_meta(conn: &Connection, batch: &Batch) -> Result<(), InternalError> {
    let previous = batch.number.wrapping_sub(1) as i64;
    let changed = conn
        .prepare_cached(
            "UPDATE meta SET number = ?1, now = ?2, next_seq = ?3, event_count = ?4 WHERE number = ?5",
        )?
        .execute((
            batch.number as i64,
            batch.now.0,
            key(batch.next_seq),
            batch.event_count as i64,
            previous,
        ))?;
    if changed == 1 {
        return Ok(());
    }
    let last = load::meta(conn)?.number;
    Err(InternalError::Rejected(format!("batch {} does not follow batch {last}", batch.number)))
}

/// Rolls back a failed portion that begins with the batch `first`. Returns `Full` only if it is certain that
/// nothing was written.
fn roll_back(conn: &Connection, path: &Path, first: u64, error: InternalError) -> ApplyError {
    let fatal = |why: &str| ApplyError::Fatal(format!("batch {first}: {error}{why}"));
    if !conn.is_autocommit() && run(conn, "ROLLBACK").is_err() && !conn.is_autocommit() {
        return fatal("; it could not be rolled back");
    }
    if !is_disk_full(&error, path) {
        return fatal("");
    }
    let clean = load::meta(conn).is_ok_and(|meta| meta.number == first.wrapping_sub(1));
    if !clean {
        return fatal("; it is unknown whether it was written");
    }
    // If the WAL can be checkpointed, the next commits reuse its space.
    let _ = checkpoint::passive(conn);
    ApplyError::Full(error.to_string())
}

/// SQLite reports a full disk, except when it fails to grow its shared memory or hits a quota. In
/// those cases, a test write shows whether the disk is full.
fn is_disk_full(error: &InternalError, path: &Path) -> bool {
    match error.code() {
        Some(ErrorCode::DiskFull) => true,
        Some(ErrorCode::SystemIoFailure) => failed_before_writing(error) && probe_is_full(path),
        _ => false,
    }
}

/// Whether the I/O error happened before the commit. After a failed fsync, by contrast, the commit
/// may have reached the disk.
fn failed_before_writing(error: &InternalError) -> bool {
    use rusqlite::ffi::{
        SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_WRITE,
    };
    let InternalError::Sqlite(error) = error else {
        return false;
    };
    error.sqlite_error().is_some_and(|error| {
        [SQLITE_IOERR_WRITE, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMOPEN]
            .contains(&error.extended_code)
    })
}

fn probe_is_full(path: &Path) -> bool {
    let probe = path.with_extension("probe");
    let written = private_files::create_file(&probe).and_then(|mut file| {
        file.write_all(&[1; 64 << 10])?;
        file.sync_all()
    });
    let _ = fs::remove_file(&probe);
    written.is_err_and(|error| {
        matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    })
}

fn run(conn: &Connection, sql: &str) -> Result<(), InternalError> {
    conn.prepare_cached(sql)?.execute([])?;
    Ok(())
}
