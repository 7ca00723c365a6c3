//! What a repair would save, and what would be lost. Changes nothing.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use rota_log::{History, HistoryError, archive_end, inspect};
use rota_store_sqlite::{LogRecord, Snapshot};

use super::{RepairSources, known};
use crate::open::{base, log_directory};
use crate::restore::Sources;
use crate::{OpenError, RestoreError};

/// What a repair would save.
#[derive(Debug)]
pub struct Prospect {
    /// The backup that is the beginning, and the last record that it has.
    pub backup: Option<(PathBuf, u64)>,
    /// The last record that would be saved.
    pub last: u64,
    /// How many records of log and archive would be applied.
    pub records: u64,
    /// Records that were committed, as far as is known, and would be lost.
    pub lost: Option<RangeInclusive<u64>>,
    /// Why they would be lost.
    pub cause: Option<HistoryError>,
}

/// What [`rebuild`](super::rebuild) would save.
pub fn rebuild_prospect(dir: &Path, sources: &RepairSources) -> Result<Prospect, RestoreError> {
    let moment = sources.moment();
    let log = log_directory(dir);
    let (key, start) = match &moment.backup {
        Some(file) => {
            let backup = Snapshot::of_file(file).map_err(OpenError::from)?;
            let start = backup.log_start().map_err(OpenError::from)?;
            let unlinked = LogRecord { index: backup.loaded().number, term: 1, checksum: 0 };
            let last = start.map_or(unlinked, |start| start.last());
            (Some(backup.loaded().id_key), last)
        }
        None => (None, LogRecord { index: 0, term: 0, checksum: 0 }),
    };
    let history = Sources::find(moment.archive.as_deref(), &log, key)?.history()?;
    if moment.backup.is_none() && history.first() != 1 {
        return Err(RestoreError::NoBeginning { first: history.first() });
    }
    let backup = moment.backup.map(|file| (file, start.index));
    Ok(Prospect { backup, ..of_history(&history, start, newest(&log, moment.archive.as_deref())) })
}

/// What [`mend_log`](super::mend_log) would save; `None` if the log needs no repair.
pub fn log_prospect(dir: &Path, sources: &RepairSources) -> Result<Option<Prospect>, RestoreError> {
    let log = log_directory(dir);
    let report = inspect(&log)?;
    let snapshot = Snapshot::of_directory(dir).map_err(OpenError::from)?;
    let Some(start) = snapshot.log_start().map_err(OpenError::from)? else { return Ok(None) };
    let last_damaged = report.lost.as_ref().map_or(0, |lost| *lost.end());
    if start.base.is_none() || report.damage.is_empty() || last_damaged <= start.number {
        return Ok(None);
    }
    let moment = sources.moment();
    let archive = moment.archive.as_deref();
    let history = Sources::find(archive, &log, Some(start.id_key))?.history()?;
    let last = known(&history, start.last())?;
    Ok(Some(of_history(&history, last, newest(&log, archive))))
}

/// Reads a history from a record on, as far as it goes.
fn of_history(history: &History, start: LogRecord, newest: u64) -> Prospect {
    let mut prospect =
        Prospect { backup: None, last: start.index, records: 0, lost: None, cause: None };
    match history.read_after(base(start)) {
        Err(error) => prospect.cause = Some(error),
        Ok(mut reader) => loop {
            match reader.next_records() {
                Ok(Some(records)) => {
                    prospect.records += records.len() as u64;
                    prospect.last = reader.position().index;
                }
                Ok(None) => break,
                Err(error) => {
                    prospect.cause = Some(error);
                    break;
                }
            }
        },
    }
    if newest > prospect.last {
        prospect.lost = Some(prospect.last + 1..=newest);
    }
    prospect
}

/// The newest record that is known to have been committed, readable or not.
fn newest(log: &Path, archive: Option<&Path>) -> u64 {
    let in_log = inspect(log).map_or(0, |report| {
        let last = report.segments.iter().filter_map(|segment| segment.last).max();
        last.max(report.lost.map(|lost| *lost.end())).unwrap_or(0)
    });
    let end = archive.and_then(|archive| archive_end(archive).ok().flatten());
    in_log.max(end.map_or(0, |end| end - 1))
}
