//! Reading a data directory from outside, whether or not a server is running.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rota_log::{LogError, inspect, record_at};
use rota_store_sqlite::{BackupSource, LogRecord, LogStart, Server, Snapshot, directory_status};

use crate::{OpenError, Options, log_directory, open};

/// How long a running server may take to apply what is in its log.
const PATIENCE: Duration = Duration::from_secs(30);
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// A snapshot of the view that has everything that was committed before the call. If a server was killed, what its
/// view lacks is applied first.
pub fn snapshot(dir: &Path) -> Result<Snapshot, OpenError> {
    let last = last_committed(dir)?;
    let begun = Instant::now();
    loop {
        let snapshot = Snapshot::of_directory(dir)?;
        let follows_log = snapshot.log_start()?.is_some_and(|start| start.base.is_some());
        if snapshot.loaded().number >= last || !follows_log {
            return Ok(snapshot);
        }
        let applied = snapshot.loaded().number;
        drop(snapshot);
        if directory_status(dir)?.server == Server::Stopped {
            apply_rest(dir)?;
        } else if begun.elapsed() > PATIENCE {
            return Err(OpenError::Behind { applied, last });
        } else {
            thread::sleep(BETWEEN_TRIES);
        }
    }
}

/// What a backup of a data directory copies: everything that was committed before the call, and which record of the
/// log that ends with.
pub fn backup_source(dir: &Path) -> Result<BackupSource, OpenError> {
    let snapshot = snapshot(dir)?;
    let last = match snapshot.log_start()? {
        Some(start) => Some(last_record(dir, start)?),
        None => None,
    };
    Ok(BackupSource { snapshot, last })
}

/// The last record that the database has applied. The database alone knows the checksum only of one before which the
/// log was begun.
fn last_record(dir: &Path, start: LogStart) -> Result<LogRecord, OpenError> {
    let last = start.last();
    if last.checksum != 0 || start.base.is_none() {
        return Ok(last);
    }
    let directory = log_directory(dir);
    let mut tries = 0;
    loop {
        match record_at(&directory, last.index) {
            Ok(Some(found)) if found.term == last.term => {
                return Ok(LogRecord { checksum: found.checksum, ..last });
            }
            Ok(_) => return Ok(last),
            // A running server may have removed a segment meanwhile.
            Err(LogError::Io(_)) if tries < 10 => tries += 1,
            Err(cause) => return Err(OpenError::log(directory, cause)),
        }
    }
}

/// The index of the last record of the log; 0 if there is none.
fn last_committed(dir: &Path) -> Result<u64, OpenError> {
    let directory = log_directory(dir);
    let mut tries = 0;
    loop {
        match inspect(&directory) {
            Ok(report) => {
                let last = report.segments.iter().filter_map(|segment| segment.last).max();
                return Ok(last.unwrap_or(0));
            }
            // A running server may have removed a segment meanwhile.
            Err(LogError::Io(_)) if tries < 10 => tries += 1,
            Err(cause) => return Err(OpenError::log(directory, cause)),
        }
    }
}

/// Opens the directory as a server would, which applies the rest of the log, and closes it.
fn apply_rest(dir: &Path) -> Result<(), OpenError> {
    let options = Options { reserve_bytes: 0, ..Options::default() };
    drop(open(dir, &options, &mut |_| ())?);
    Ok(())
}
